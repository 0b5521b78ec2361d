// One feature: what it has, and what can be done with it.
import type { State as FeatureState } from '../api/types';
import { kindOf, titleOf, valueOf, geometryText } from '../feature';
import { middleOf, positionText } from '../geo';
import { button, byId, el } from './dom';

export interface DetailsHooks {
  onBack(): void;
  onZoom(): void;
  onEdit(): void;
  onMove(): void;
  onDelete(): void;
}

export class Details {
  private readonly root = byId('details');

  constructor(private readonly hooks: DetailsHooks) {}

  show({ place }: FeatureState): void {
    const { hooks } = this;
    const rows = Object.entries(place.properties ?? {}).map(([name, value]) => el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, valueOf(value))));
    const middle = middleOf(place.geometry);
    const where = place.geometry ? `${geometryText(place.geometry.type)}, ${middle ? positionText(middle) : ''}` : 'without a place on the map';
    const actions = el('div', { class: 'row wrap' });
    if (middle) actions.append(button('Show', hooks.onZoom, { icon: 'zoom' }));
    actions.append(button('Edit', hooks.onEdit, { icon: 'edit', id: 'edit' }));
    if (middle) actions.append(button('Move', hooks.onMove, { icon: 'move', id: 'move' }));
    actions.append(button('Delete', hooks.onDelete, { icon: 'delete', class: 'danger', id: 'delete' }));
    this.root.replaceChildren(
      button('Back', hooks.onBack, { icon: 'back', class: 'back', id: 'details-back' }),
      el('h2', { id: 'details-title', tabindex: -1 }, titleOf(place)),
      el('p', { class: 'soft' }, `${kindOf(place)} · ${where}`),
      actions,
      rows.length > 0 ? el('table', {}, el('caption', { class: 'hidden' }, 'Properties'), el('tbody', {}, ...rows)) : el('p', { class: 'soft' }, 'It has no properties.'),
      el('p', { class: 'soft id' }, `Id ${place.id}`),
    );
    this.root.hidden = false;
  }

  /** Says that the feature is not there. */
  missing(id: string, text: string): void {
    this.root.replaceChildren(
      button('Back', this.hooks.onBack, { icon: 'back', class: 'back', id: 'details-back' }),
      el('h2', { id: 'details-title', tabindex: -1 }, id),
      el('p', { class: 'problem' }, text),
    );
    this.root.hidden = false;
  }

  hide(): void {
    this.root.hidden = true;
    this.root.replaceChildren();
  }

  focus(): void {
    this.root.querySelector<HTMLElement>('h2')?.focus();
  }
}
