// Short texts that come and go, which screen readers read: what failed, what was done.
import { byId, el, icon } from './dom';

/** How long a text stays, in milliseconds, for each of its characters and at least. */
const perCharacter = 70;
const atLeast = 4000;
/** How many stand at the same time. */
const most = 3;

export interface NoteOptions {
  error?: boolean;
  /** A button, and what it does. */
  action?: { text: string; do(): void };
}

export interface Note {
  close(): void;
  /** Whether it is still there. */
  readonly shown: boolean;
}

/** Shows a text. One with an action stays until it is closed. */
export function note(text: string, options: NoteOptions = {}): Note {
  const box = byId('notes');
  const close = (): void => {
    clearTimeout(timer);
    item.remove();
  };
  const item = el('div', { class: options.error ? 'note error' : 'note' }, el('p', {}, text));
  const { action } = options;
  if (action) {
    const act = (): void => {
      close();
      action.do();
    };
    item.append(el('button', { type: 'button', click: act }, action.text));
  }
  const x = el('button', { type: 'button', class: 'icon', 'aria-label': 'Close this message', click: close });
  x.append(icon('close'));
  item.append(x);
  box.append(item);
  while (box.children.length > most) box.firstElementChild?.remove();
  const timer = action ? 0 : window.setTimeout(close, Math.max(atLeast, text.length * perCharacter));
  return {
    close,
    get shown() {
      return item.isConnected;
    },
  };
}

/** Says a text to screen readers, and shows it at the foot of the panel. */
export function say(text: string): void {
  byId('status').textContent = text;
}
