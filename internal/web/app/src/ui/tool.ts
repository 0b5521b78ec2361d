// The toolbar that stands on the map while something is drawn.
import type { Geometry } from 'geojson';
import { Drawing, type Kind, type Shape } from '../map/draw';
import type { Corner } from '../geo';
import type { MapView } from '../map/view';
import { byId } from './dom';

export interface ToolOptions {
  kind: Kind;
  /** What the shape is for, such as "Draw the area to search in". */
  text: string;
  finish: string;
  /** Whether people choose what they draw. */
  kinds?: boolean;
  preview?: (shape: Shape, pointer: Corner | undefined) => { geometry: Geometry }[];
}

let running: (() => void) | undefined;

/** Lets people draw, and gives the shape; undefined: it was cancelled. */
export function draw(view: MapView, o: ToolOptions): Promise<Shape | undefined> {
  running?.(); // One at a time: the one before is cancelled.
  const tool = byId('tool');
  const text = byId('tool-text');
  const kinds = byId<HTMLFieldSetElement>('tool-kinds');
  const finish = byId<HTMLButtonElement>('tool-finish');
  const before = document.activeElement;
  const ended = new AbortController();
  const { signal } = ended;

  return new Promise((resolve) => {
    const end = (shape: Shape | undefined): void => {
      running = undefined;
      ended.abort();
      drawing.end();
      tool.hidden = true;
      byId('cross').hidden = true;
      document.body.classList.remove('drawing');
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      resolve(shape);
    };
    const cancel = (): void => end(undefined);
    const tryFinish = (): void => {
      const problem = drawing.shape.problem();
      if (problem) text.textContent = problem;
      else end(drawing.shape);
    };
    const changed = (): void => {
      const { kind, corners } = drawing.shape;
      const n = corners.length;
      text.textContent = kind === 'Point' ? (n === 0 ? o.text : 'The point is set. Choose another one, or finish.') : n === 0 ? o.text : `${n} ${n === 1 ? 'corner' : 'corners'}. ${drawing.shape.problem() ?? 'Go on, or finish.'}`;
    };
    const drawing: Drawing = new Drawing(view, o.kind, { onChange: changed, onFinish: tryFinish, onCancel: cancel }, o.preview);
    running = cancel;

    const on = (id: string, action: () => void): void => byId(id).addEventListener('click', action, { signal });
    on('tool-centre', () => drawing.addCentre());
    on('tool-undo', () => drawing.undo());
    on('tool-cancel', cancel);
    on('tool-finish', tryFinish);
    tool.addEventListener('keydown', (e) => e.key === 'Escape' && cancel(), { signal });
    kinds.hidden = !o.kinds;
    for (const radio of kinds.querySelectorAll('input')) {
      radio.checked = radio.value === o.kind;
      radio.addEventListener('change', () => drawing.setKind(radio.value as Kind), { signal });
    }
    text.textContent = o.text;
    finish.textContent = o.finish;
    tool.hidden = false;
    byId('cross').hidden = false;
    document.body.classList.add('drawing');
    view.map.getCanvas().focus();
  });
}
