// The panel beside the map; on a phone a sheet at the bottom that is pulled up.
import type { MapView } from '../map/view';
import { byId } from './dom';

const phone = matchMedia('(max-width: 700px)');

export class Panel {
  private readonly root = byId('panel');
  private readonly handle = byId<HTMLButtonElement>('sheet');
  private readonly tabs = [byId<HTMLButtonElement>('tab-places'), byId<HTMLButtonElement>('tab-engine')];

  constructor(onTab: (name: 'places' | 'engine') => void) {
    this.handle.addEventListener('click', () => this.setOpen(this.root.classList.contains('low')));
    // Not a link to #panel: what stands behind # is the state of the page.
    byId('skip').addEventListener('click', () => this.root.focus());
    this.drag();
    const [places, engine] = this.tabs as [HTMLButtonElement, HTMLButtonElement];
    places.addEventListener('click', () => onTab('places'));
    engine.addEventListener('click', () => onTab('engine'));
    for (const tab of this.tabs) {
      tab.addEventListener('keydown', (e) => {
        if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
        const other = tab === places ? engine : places;
        other.focus();
        other.click();
        e.preventDefault();
      });
    }
  }

  /** Pulls the sheet up or down; beside the map it is always open. */
  setOpen(open: boolean): void {
    this.root.classList.toggle('low', !open);
    this.handle.setAttribute('aria-expanded', String(open));
  }

  /** Pulls the sheet down, so that a phone shows the map. */
  showMap(): void {
    if (phone.matches) this.setOpen(false);
  }

  /** Shows a tab. */
  show(name: 'places' | 'engine'): void {
    this.root.classList.toggle('wide', name === 'engine');
    for (const tab of this.tabs) {
      const on = tab.id === `tab-${name}`;
      tab.setAttribute('aria-selected', String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(tab.getAttribute('aria-controls')!).hidden = !on;
    }
  }

  hideTabs(): void {
    byId('tabs').hidden = true;
    byId('places').removeAttribute('role');
  }

  /** Pixels of the map that the open sheet of a phone covers. */
  covers(): number {
    return phone.matches && !this.root.classList.contains('low') ? this.root.offsetHeight : 0;
  }

  /** Keeps the middle of the map where it is not covered. */
  follow(view: MapView): void {
    const place = (): void => {
      const covered = phone.matches ? { left: 0, bottom: this.root.classList.contains('low') ? this.root.offsetHeight : 0 } : { left: this.root.offsetLeft + Math.min(this.root.offsetWidth, 400), bottom: 0 };
      view.setPadding(covered);
      document.body.style.setProperty('--left', `${covered.left}px`);
      document.body.style.setProperty('--bottom', `${covered.bottom}px`);
    };
    phone.addEventListener('change', place);
    new ResizeObserver(place).observe(this.root);
    place();
  }

  /** A drag on the bar pulls the sheet. */
  private drag(): void {
    let from: number | undefined;
    const bar = byId('bar');
    bar.addEventListener('touchstart', (e) => (from = e.touches[0]?.clientY), { passive: true });
    bar.addEventListener('touchend', (e) => {
      const to = e.changedTouches[0]?.clientY;
      if (from !== undefined && to !== undefined && Math.abs(to - from) > 24) this.setOpen(to < from);
      from = undefined;
    });
  }
}
