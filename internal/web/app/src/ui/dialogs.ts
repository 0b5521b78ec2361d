// Questions that must be answered first. A dialog of the browser keeps the focus,
// and gives it back.
import { byId, el } from './dom';

export interface Choice {
  value: string;
  text: string;
  class?: string;
}

/** Asks a question, and gives the value of the choice; empty: it was closed. */
export function ask(title: string, text: string, choices: Choice[]): Promise<string> {
  const dialog = byId<HTMLDialogElement>('ask');
  byId('ask-title').textContent = title;
  byId('ask-text').textContent = text;
  byId('ask-choices').replaceChildren(...choices.map((c) => el('button', { type: 'submit', value: c.value, class: c.class }, c.text)));
  return shown(dialog);
}

function shown(dialog: HTMLDialogElement): Promise<string> {
  dialog.returnValue = '';
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener('close', () => resolve(dialog.returnValue), { once: true }));
}

const stored = 'catfish-key';

/** The key that was kept in this tab; empty: none. */
export function keptKey(): string {
  return sessionStorage.getItem(stored) ?? '';
}

/** Asks for a key. undefined: it stays as it was. */
export async function askKey(why: string): Promise<string | undefined> {
  const dialog = byId<HTMLDialogElement>('key-dialog');
  const input = byId<HTMLInputElement>('key');
  const text = byId('key-text');
  if (why) text.textContent = why;
  input.value = keptKey();
  byId('key-forget').hidden = input.value === '';
  switch (await shown(dialog)) {
    case 'use':
      sessionStorage.setItem(stored, input.value.trim());
      return input.value.trim();
    case 'none':
      sessionStorage.removeItem(stored);
      return '';
    default:
      return undefined;
  }
}
