// Writes: adding, changing, moving and deleting a feature. Each but the first says
// which state it is about (If-Match): what somebody else has written meanwhile is not
// overwritten unless people say so.
import type { Client } from './api/client';
import { plain, Problem } from './api/problem';
import type { Properties, Queryables, State as FeatureState } from './api/types';
import { patchOf } from './edit';
import { namePropertyOf, titleOf } from './feature';
import { moveTo, type Corner } from './geo';
import type { Kind, Shape } from './map/draw';
import type { MapView } from './map/view';
import { ask } from './ui/dialogs';
import { editProperties } from './ui/editor';
import { note, say } from './ui/notes';
import { draw } from './ui/tool';

export interface WritingHooks {
  client: Client;
  view: MapView;
  collection(): string;
  known(): Queryables;
  /** A feature was written, or deleted. */
  onWritten(id: string, gone: boolean): void;
  /** A feature is to be shown as it is now. */
  onShow(id: string): void;
  onCancel(): void;
  /** A form is shown. */
  onForm(): void;
}

export class Writing {
  /** Something is being edited. */
  busy = false;

  constructor(private readonly h: WritingHooks) {}

  /** Draws a new feature, and asks for its properties. */
  async add(): Promise<void> {
    const { h } = this;
    const shape = await draw(h.view, { kind: 'Point', kinds: true, text: 'Click where the new place is.', finish: 'Next' });
    if (!shape) return;
    const geometry = shape.geometry();
    h.view.show('draw', [{ geometry }]);
    this.busy = true;
    h.onForm();
    const known = h.known();
    editProperties({
      title: 'A new place',
      properties: null,
      withId: true,
      known,
      names: [namePropertyOf((n) => known.has(n)) ?? 'name'],
      explain,
      cancel: () => this.end(),
      save: async (properties, id) => {
        const made = Object.fromEntries(Object.entries(properties).filter(([, v]) => v !== ''));
        const written = await h.client.create(h.collection(), { type: 'Feature', ...(id && { id }), geometry, properties: made });
        this.busy = false;
        h.view.show('draw', []);
        note('The place was added.');
        h.onWritten(written, false);
      },
    });
  }

  /** Shows a form of a feature's properties. */
  edit(of: FeatureState): void {
    const { h } = this;
    const before = of.place.properties ?? {};
    this.busy = true;
    h.onForm();
    editProperties({
      title: `Edit ${titleOf(of.place)}`,
      properties: before,
      withId: false,
      known: h.known(),
      names: [],
      explain,
      cancel: () => this.end(),
      save: (after) => this.change(of, { properties: patchOf(before, after) as Properties }),
    });
  }

  /** Lets people choose where a feature is. */
  async move(of: FeatureState): Promise<void> {
    const { h } = this;
    const { geometry } = of.place;
    if (!geometry) return;
    this.busy = true;
    const preview = (s: Shape, pointer: Corner | undefined) => {
      const at = s.corners[0] ?? pointer;
      return at ? [{ geometry: moveTo(geometry, at) }] : [];
    };
    const kind: Kind = 'Point';
    const shape = await draw(h.view, { kind, text: `Click where ${titleOf(of.place)} is.`, finish: 'Move it', preview });
    this.busy = false;
    const to = shape?.corners[0];
    if (!to) return;
    try {
      await this.change(of, { geometry: moveTo(geometry, to) });
    } catch (error) {
      note(explain(error), { error: true });
    }
  }

  async remove(of: FeatureState): Promise<void> {
    const { h } = this;
    const title = titleOf(of.place);
    const answer = await ask(`Delete ${title}?`, 'It cannot be brought back.', [
      { value: '', text: 'Keep it' },
      { value: 'delete', text: 'Delete', class: 'danger primary' },
    ]);
    if (answer !== 'delete') return;
    try {
      await this.insist(of, (etag) => h.client.remove(h.collection(), of.place.id, etag));
    } catch (error) {
      if (!(error instanceof GivenUp)) note(explain(error), { error: true });
      return;
    }
    note(`${title} was deleted.`);
    h.onWritten(of.place.id, true);
  }

  private async change(of: FeatureState, change: { properties?: Properties; geometry?: object }): Promise<void> {
    const { h } = this;
    try {
      // Until it is read again, what is done next is about what was just written.
      of.etag = await this.insist(of, (etag) => h.client.patch(h.collection(), of.place.id, etag, change));
    } catch (error) {
      if (error instanceof GivenUp) return;
      throw error;
    }
    this.busy = false;
    note('Saved.');
    h.onWritten(of.place.id, false);
  }

  /** Writes; if the feature has changed meanwhile, people say what shall be. */
  private async insist<T>(of: FeatureState, write: (etag: string) => Promise<T>): Promise<T> {
    const { h } = this;
    let { etag } = of;
    for (;;) {
      try {
        return await write(etag);
      } catch (error) {
        if (!(error instanceof Problem && error.status === 412)) throw error;
      }
      const answer = await ask('It was changed meanwhile', `Somebody else has changed ${titleOf(of.place)} since you opened it. Nothing was written yet.`, [
        { value: 'show', text: 'Show their state' },
        { value: 'mine', text: 'Write mine over it', class: 'primary' },
      ]);
      if (answer === 'show') {
        this.busy = false;
        h.onShow(of.place.id);
      }
      if (answer !== 'mine') throw new GivenUp();
      // The state that was just said to be replaced; another write in between asks again.
      etag = (await h.client.place(h.collection(), of.place.id)).etag;
    }
  }

  /** Something else is shown: what was not saved is gone. */
  abandon(): void {
    if (!this.busy) return;
    this.busy = false;
    this.h.view.show('draw', []);
  }

  private end(): void {
    this.abandon();
    say('Nothing was changed.');
    this.h.onCancel();
  }
}

/** People decided against a write. */
class GivenUp extends Error {}

function explain(error: unknown): string {
  if (error instanceof Problem && error.status === 409) return 'There is a place with this id already.';
  if (error instanceof Problem && error.status === 404) return 'It was deleted meanwhile.';
  return plain(error);
}
