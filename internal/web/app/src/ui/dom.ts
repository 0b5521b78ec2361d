// The few things that the page needs to make and find elements.

/** The element of an id in index.html. */
export function byId<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as unknown as T;
}

type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

/**
 * A new element. Attributes that are functions listen to the event of their name;
 * undefined and false ones are left out.
 */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(name, value as EventListener);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : String(value));
  }
  e.append(...children);
  return e;
}

/** A picture of index.html, for people who see it. */
export function icon(name: string): SVGSVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(ns, 'use');
  use.setAttribute('href', `#i-${name}`);
  svg.append(use);
  return svg;
}

/** A button with a picture and a text. */
export function button(text: string, onClick: () => void, options: { icon?: string; class?: string; id?: string } = {}): HTMLButtonElement {
  const b = el('button', { type: 'button', class: options.class, id: options.id, click: onClick });
  if (options.icon) b.append(icon(options.icon));
  b.append(text);
  return b;
}
