// The engine room on the page. It is made once, and filled with each snapshot.
import { el } from '../ui/dom';
import { sentence } from '../api/problem';
import { Bars, Strip, TimeChart } from './charts';
import { binsOf, ceiling, duration, histogramOf, History, movesOf, percent, quantile, shareOf, short, totalOf } from './figures';
import type { Info, Service, Snapshot } from './types';

/** How much time the charts show, in seconds. */
const shown = 90;

/** What the buttons do. */
export interface Actions {
  start(load: { clients: number; seconds: number; collection?: string }): Promise<void>;
  stop(): Promise<void>;
}

export class View {
  private readonly history = new History(shown);
  private readonly requests = new TimeChart('Requests, per second', [
    { name: 'HTTP', colour: 's6', area: false },
    { name: 'gRPC', colour: 's2', area: false },
  ], shown);
  private readonly slowest = new TimeChart('99 of 100 requests took at most', [
    { name: 'HTTP', colour: 's6', area: false },
    { name: 'gRPC', colour: 's2', area: false },
  ], shown);
  private readonly searches = new TimeChart('Searches of the load, per second', [
    { name: 'answered by messages', colour: 's1', area: true },
    { name: 'offloaded', colour: 's2', area: true },
  ], shown);
  private readonly cpu = new TimeChart('Server processor', [
    { name: 'all use of its cores', colour: 's3', area: false },
    { name: 'its own', colour: 's4', area: false },
  ], shown);
  private readonly reads = new TimeChart('Reads of the load, per second', [
    { name: 'one-sided reads', colour: 's2', area: false },
  ], shown);
  private readonly restarts = new TimeChart('Reads repeated, per second', [
    { name: 'searches begun anew', colour: 's5', area: false },
    { name: 'torn reads', colour: 's7', area: false },
  ], shown);
  private readonly latency = new Bars('Latency of the load', 'Searches of the last second, by how long they took. Each bar is of times twice as long as those of the bar before.');
  private readonly strips = new Map<string, Strip>();

  private readonly state = el('p', { class: 'engine-state', role: 'status' });
  private readonly words = el('p', { class: 'soft' }, 'Connecting…');
  private readonly facts = el('dl', { class: 'facts' });
  private readonly clients = el('tbody');
  private readonly clientsBox = el('section', { class: 'engine-clients' });
  private readonly seen = el('tbody');
  private readonly asked = el('tbody');
  private readonly groups = el('tbody');
  private readonly groupsBox = el('section', {});
  private readonly form = el('form', { class: 'engine-load' });
  private readonly number = el('input', { id: 'engine-clients', type: 'number', min: 1, value: 8, required: true, inputmode: 'numeric' });
  private readonly seconds = el('input', { id: 'engine-seconds', type: 'number', min: 1, value: 20, required: true, inputmode: 'numeric' });
  private readonly collection = el('select', { id: 'engine-collection' });
  private readonly go = el('button', { type: 'submit', class: 'primary' }, 'Start a load');
  private readonly problem = el('p', { class: 'problem', role: 'alert' });
  private running = false;

  constructor(private readonly root: HTMLElement, private readonly actions: Actions) {
    this.form.append(
      field('Clients', this.number), field('Seconds', this.seconds), field('Searches in', this.collection), this.go, this.problem);
    this.form.hidden = true;
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.submit();
    });
    this.clientsBox.append(
      el('h3', {}, 'Clients of the load'),
      scrolled('Clients of the load', el('table', {},
        head('Client', 'Share over time', 'Offloaded', 'Searches/s', 'Reads/s', 'Begun anew/s', 'Torn/s', 'p50', 'p99'), this.clients)),
    );
    this.clientsBox.hidden = true;
    const others = el('section', {}, el('h3', {}, 'All clients, as the server sees them'),
      el('p', { class: 'soft' }, 'Messages and connections. One-sided reads pass the server’s processor by: only the client that makes them can count them.'),
      scrolled('All clients', el('table', {}, head('Transport', 'Connections', 'Read channels', 'Messages/s'), this.seen)));
    const services = el('section', {}, el('h3', {}, 'HTTP and gRPC'),
      el('p', { class: 'soft' }, 'Requests that ended in the last second, and streams that are open, such as this page’s own.'),
      scrolled('HTTP and gRPC', el('table', {}, head('Service', 'Requests/s', 'Failed/s', 'p50', 'p99', 'Open streams'), this.asked)));
    this.groupsBox.append(el('h3', {}, 'Groups of servers'),
      el('p', { class: 'soft' }, 'They have this store together: each the places whose ids fall into its slots, of 4,096. Writes of frozen slots wait until these have moved.'),
      scrolled('Groups of servers', el('table', {}, head('Group', 'Slots', 'Frozen', 'Moves'), this.groups)));
    this.groupsBox.hidden = true;
    const charts = el('div', { class: 'charts' }, this.requests.root, this.slowest.root, this.searches.root, this.cpu.root, this.latency.root, this.reads.root, this.restarts.root);
    root.classList.add('engine-room');
    root.replaceChildren(
      el('div', {}, el('h2', {}, 'Engine room'), this.words,
        el('p', { class: 'soft' }, 'While the server has time it answers searches by messages. When it is busy, clients offload: they read its index by themselves, and come back when it has time again.')),
      this.form, this.state, charts, services, this.groupsBox, this.clientsBox, others, this.facts);
    this.draw();
  }

  /** Says what serves. */
  info(i: Info): void {
    const best = i.transports[0];
    this.words.textContent = best ? `Clients on this machine reach the server by ${best.words}.` : '';
    const facts: [string, string][] = [
      ['Server', `${i.address}, version ${i.version}`],
      ['Processor', `${count(i.cores, 'core')}, ${i.workers ? `${count(i.workers, 'worker')} for each transport` : 'a worker for each connection'}`],
      ['Heartbeat', `every ${duration(i.heartbeat_seconds * 1e6)}`],
      ['Memory limit', `${Number((i.memory_limit_bytes / 2 ** 30).toPrecision(3))} GiB`],
      ['Transports', i.transports.map((t) => t.words).join('; ')],
    ];
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
    this.form.hidden = !i.load.allowed;
    this.number.max = String(i.load.max_clients);
    this.seconds.max = String(i.load.max_seconds);
    this.collection.replaceChildren(
      ...(i.load.collections ?? []).map((c) => el('option', { value: c }, c === 'default' ? 'default (boxes)' : c)));
    if (!i.load.allowed) this.say('This server starts no load by itself: catfish serve --engine-load allows it.');
  }

  say(text: string, error = false): void {
    // Screen readers say it again with each change.
    if (this.state.textContent !== text) this.state.textContent = text;
    this.state.classList.toggle('problem', error);
  }

  snapshot(s: Snapshot): void {
    this.history.push(s);
    const load = s.load;
    this.running = load !== null;
    this.go.textContent = load ? 'Stop the load' : 'Start a load';
    this.go.classList.toggle('danger', load !== null);
    this.number.disabled = this.seconds.disabled = this.collection.disabled = load !== null;
    if (s.ended) this.say(sentence(s.ended), s.ended.includes('failed'));
    else if (load) {
      const rest = load.state === 'starting' ? 'its clients are starting'
        : load.pause_ms > 0 ? `callers rest ${short(load.pause_ms)} ms between searches` : 'full load: nobody rests';
      this.say(`${load.clients} clients search ${load.collection} for ${load.seconds} s by policy ${load.policy}; ${rest}.`);
    }
    this.draw();
  }

  private draw(): void {
    const h = this.history;
    const last = h.last;
    const total = totalOf(last?.clients ?? []);
    const of = (f: (t: ReturnType<typeof totalOf>) => number) => (s: Snapshot) => (s.clients.length > 0 ? f(totalOf(s.clients)) : undefined);
    const scaled = (f: (s: Snapshot) => number | undefined, top: number) => h.points(f).map(([ago, v]) => [ago, v / top] as const);
    const none = (last?.clients.length ?? 0) === 0;
    const text = (n: number): string => (none ? '–' : short(n));

    this.drawServices();
    const map = last?.map;
    this.groupsBox.hidden = !map;
    if (map) {
      this.groups.replaceChildren(...map.groups.map((g) =>
        el('tr', {}, el('th', { scope: 'row' }, g.name), cell(String(g.slots)), cell(String(g.frozen)), cell(movesOf(map, g.name)))));
    }

    // Without a load there are none.
    const loaded = h.most((s) => s.clients.length) > 0;
    for (const chart of [this.searches, this.latency, this.reads, this.restarts]) chart.shown = loaded;
    const all = of((t) => t.messages + t.offloaded);
    let top = ceiling(h.most(all));
    this.searches.draw([scaled(of((t) => t.messages), top), scaled(all, top)],
      [text(total.messages), none ? '–' : `${short(total.offloaded)} (${percent(shareOf(total))})`], short(top));
    this.cpu.draw([h.points((s) => s.server.cpu), h.points((s) => s.server.own_cpu)],
      last ? [percent(last.server.cpu), percent(last.server.own_cpu)] : ['–', '–'], '100 %');
    top = ceiling(h.most(of((t) => t.reads)));
    this.reads.draw([scaled(of((t) => t.reads), top)], [text(total.reads)], short(top));
    top = ceiling(Math.max(h.most(of((t) => t.restarts)), h.most(of((t) => t.torn))));
    this.restarts.draw([scaled(of((t) => t.restarts), top), scaled(of((t) => t.torn), top)], [text(total.restarts), text(total.torn)], short(top));

    const counts = histogramOf(last?.clients ?? []);
    const { from, counts: bins } = binsOf(counts);
    const upTo = (i: number): string => `≤ ${duration(2 ** (from + i))}`;
    const middle = bins.length >> 1;
    this.latency.draw(bins, [upTo(0), upTo(middle), upTo(bins.length - 1)],
      none ? 'no searches' : `half within ${duration(quantile(counts, 0.5))}, 99 of 100 within ${duration(quantile(counts, 0.99))}`);

    if (last && last.clients.length > 0) this.table(last);
    else if (last && !last.load) this.clientsBox.hidden = true;
    this.seen.replaceChildren(...(last?.server.transports ?? []).map((t) =>
      el('tr', {}, el('th', { scope: 'row' }, t.name), cell(t.name === 'tcp' ? '–' : short(t.connections)), cell(t.name === 'tcp' ? '–' : short(t.read_channels)), cell(short(t.messages_per_second)))));
  }

  private drawServices(): void {
    const h = this.history;
    const names = ['http', 'grpc'] as const;
    const find = (s: Snapshot | undefined, name: string): Service | undefined => s?.server.services.find((o) => o.name === name);
    const now = names.map((name) => find(h.last, name));
    let top = ceiling(Math.max(...names.map((name) => h.most((s) => find(s, name)?.requests_per_second))));
    this.requests.draw(names.map((name) => h.points((s) => find(s, name)?.requests_per_second).map(([ago, v]) => [ago, v / top] as const)), now.map((o) => (o ? short(o.requests_per_second) : '–')), short(top));
    // A second without requests has no time.
    const took = (name: string) => (s: Snapshot) => find(s, name)?.p99_us || undefined;
    top = ceiling(Math.max(...names.map((name) => h.most(took(name)))));
    this.slowest.draw(names.map((name) => h.points(took(name)).map(([ago, v]) => [ago, v / top] as const)), now.map((o) => (o?.p99_us ? duration(o.p99_us) : '–')), duration(top));
    this.slowest.shown = names.some((name) => h.most(took(name)) > 0);
    this.asked.replaceChildren(...now.filter((o) => o !== undefined).map((o) =>
      el('tr', {}, el('th', { scope: 'row' }, o.name === 'http' ? 'HTTP' : 'gRPC'), cell(short(o.requests_per_second)), cell(short(o.failed_per_second)),
        cell(o.p50_us ? duration(o.p50_us) : '–'), cell(o.p99_us ? duration(o.p99_us) : '–'), cell(short(o.streams)))));
  }

  private table(last: Snapshot): void {
    this.clientsBox.hidden = false;
    this.clients.replaceChildren(...last.clients.map((c) => {
      let strip = this.strips.get(c.name);
      if (!strip) this.strips.set(c.name, (strip = new Strip(shown)));
      strip.draw(this.history.points((s) => s.clients.find((o) => o.name === c.name)?.offloaded_share));
      return el('tr', {}, el('th', { scope: 'row' }, c.name), el('td', {}, strip.root), cell(percent(c.offloaded_share)),
        cell(short(c.messages_per_second + c.offloaded_per_second)), cell(short(c.reads_per_second)),
        cell(short(c.restarts_per_second)), cell(short(c.torn_reads_per_second)), cell(duration(c.p50_us)), cell(duration(c.p99_us)));
    }));
  }

  private async submit(): Promise<void> {
    this.problem.textContent = '';
    this.go.disabled = true;
    try {
      if (this.running) await this.actions.stop();
      else {
        await this.actions.start({
          clients: this.number.valueAsNumber, seconds: this.seconds.valueAsNumber,
          ...(this.collection.value ? { collection: this.collection.value } : {}),
        });
      }
    } catch (error) {
      this.problem.textContent = sentence(error instanceof Error ? error.message : String(error));
    } finally {
      this.go.disabled = false;
    }
  }

  /** Empties the place. */
  close(): void {
    this.root.classList.remove('engine-room');
    this.root.replaceChildren();
  }
}

function field(label: string, input: HTMLInputElement | HTMLSelectElement): HTMLElement {
  return el('div', { class: 'field' }, el('label', { for: input.id }, label), input);
}

function head(...names: string[]): HTMLElement {
  return el('thead', {}, el('tr', {}, ...names.map((n) => el('th', { scope: 'col' }, n))));
}

function cell(text: string): HTMLElement {
  return el('td', {}, text);
}

function count(n: number, of: string): string {
  return `${short(n)} ${of}${n === 1 ? '' : 's'}`;
}

/** A table that may be wider than the panel: the keyboard can move it, too. */
function scrolled(name: string, table: HTMLElement): HTMLElement {
  return el('div', { class: 'scrolled', role: 'region', 'aria-label': name, tabindex: 0 }, table);
}
