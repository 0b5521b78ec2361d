// A form of a feature's properties, in the place of its details.
import type { Properties, Queryables } from '../api/types';
import { propertiesOf, RowError, rowsOf, type Row } from '../edit';
import { button, byId, el, icon } from './dom';

export interface EditorOptions {
  title: string;
  /** What the feature has; null: it is new. */
  properties: Properties | null;
  /** The form asks for an id. */
  withId: boolean;
  known: Queryables;
  /** Names of new rows. */
  names: string[];
  /** Keeps the properties; what it throws is shown. */
  save(properties: Properties, id: string): Promise<void>;
  cancel(): void;
  /** What is thrown as people should read it. */
  explain(error: unknown): string;
}

interface RowFields {
  root: HTMLElement;
  name: HTMLInputElement;
  value: HTMLInputElement | HTMLTextAreaElement;
  was: unknown;
}

/** Shows the form, and moves the focus into it. */
export function editProperties(o: EditorOptions): void {
  const root = byId('details');
  const fields: RowFields[] = [];
  const list = el('div', { class: 'rows' });
  const problem = el('p', { class: 'problem', role: 'alert' });
  const id = el('input', { id: 'edit-id', autocomplete: 'off', spellcheck: 'false', maxlength: 512, placeholder: 'made by the server' });

  const add = (row: Row): RowFields => {
    const label = row.name || 'the new property';
    const name = el('input', { 'aria-label': 'Name of the property', list: 'known-names', autocomplete: 'off', spellcheck: 'false', value: row.name });
    const long = row.text.length > 60 || row.text.includes('\n');
    const value = long ? el('textarea', { 'aria-label': `Value of ${label}`, rows: 3 }) : el('input', { 'aria-label': `Value of ${label}`, autocomplete: 'off' });
    value.value = row.text;
    name.addEventListener('change', () => value.setAttribute('aria-label', `Value of ${name.value || 'the new property'}`));
    const remove = el('button', { type: 'button', class: 'icon', 'aria-label': `Remove ${label}` });
    remove.append(icon('close'));
    const one: RowFields = { root: el('div', { class: 'prop' }, name, value, remove), name, value, was: row.was };
    remove.addEventListener('click', () => {
      const at = fields.indexOf(one);
      fields.splice(at, 1);
      one.root.remove();
      (fields[Math.min(at, fields.length - 1)]?.name ?? more).focus();
    });
    fields.push(one);
    list.append(one.root);
    return one;
  };

  const more = button('Add a property', () => add({ name: '', text: '' }).name.focus(), { icon: 'add', class: 'quiet' });
  const saving = el('button', { type: 'submit', class: 'primary', id: 'save' }, 'Save');
  const form = el('form', {}, el('h2', { id: 'details-title', tabindex: -1 }, o.title));
  if (o.withId) form.append(el('div', { class: 'field' }, el('label', { for: 'edit-id' }, 'Id (optional)'), id));
  form.append(list, more, problem, el('div', { class: 'row' }, el('span', { class: 'grow' }), button('Cancel', o.cancel, { id: 'edit-cancel' }), saving));
  form.append(el('datalist', { id: 'known-names' }, ...[...o.known.keys()].slice(0, 500).map((name) => el('option', { value: name }))));
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    void submit();
  });
  form.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') o.cancel();
  });

  const submit = async (): Promise<void> => {
    problem.textContent = '';
    saving.disabled = true;
    try {
      const rows = fields.map((f): Row => ({ name: f.name.value, text: f.value.value, was: f.was }));
      await o.save(propertiesOf(rows, o.known), id.value.trim());
    } catch (error) {
      problem.textContent = error instanceof RowError ? error.message : o.explain(error);
      if (error instanceof RowError) fields[error.row]?.value.focus();
    } finally {
      saving.disabled = false;
    }
  };

  for (const row of rowsOf(o.properties)) add(row);
  if (o.properties === null) for (const name of o.names) add({ name, text: '' });
  root.replaceChildren(form);
  root.hidden = false;
  (fields[0]?.value ?? more).focus();
}
