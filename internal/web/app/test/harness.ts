// A server and a browser for tests. Nothing here waits for a time: servers say when
// they are ready, and the map has aria-busy until all of it is drawn.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

export const root = fileURLToPath(new URL('../../../../', import.meta.url));
const program = process.env['CATFISH'] ?? `${root}bin/catfish`;
const browserPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const shots = fileURLToPath(new URL('../shots/', import.meta.url));

export interface Served {
  url: string;
  stop(): Promise<void>;
}

/** Runs the program, and gives its output. */
export async function run(...args: string[]): Promise<string> {
  const p = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  p.stdout.on('data', (b: Buffer) => (out += b.toString()));
  const [code] = (await once(p, 'close')) as [number];
  if (code !== 0) throw new Error(`catfish ${args.join(' ')}: exit ${code}`);
  return out.trim();
}

/** Starts a server with a free port for HTTP. */
export async function serve(...args: string[]): Promise<Served> {
  const p: ChildProcess = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--transport', 'tcp', '--http', '127.0.0.1:0', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  p.stderr!.on('data', (b: Buffer) => (log += b.toString()));
  const ended = once(p, 'exit');
  for await (const line of createInterface(p.stdout!)) {
    const address = /^ready .*\bhttp=(\S+)/.exec(line);
    if (!address) continue;
    return {
      url: `http://${address[1]}/`,
      stop: async () => {
        p.kill('SIGINT');
        await ended;
      },
    };
  }
  throw new Error(`the server ended: ${log}`);
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPath,
    args: [
      '--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  });
}

/** A page, and what its console said that it should not. */
export interface Tab {
  page: Page;
  complaints: string[];
  /** Addresses of other servers that it asked for. */
  strangers: string[];
  close(): Promise<void>;
}

export async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', ...options });
  const page = await context.newPage();
  // A busy machine is slow, not wrong: the limit is there for what never comes.
  page.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  const strangers: string[] = [];
  const own = new URL(url).origin;
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(String(e.stack)));
  page.on('request', (r) => /^https?:/.test(r.url()) && new URL(r.url()).origin !== own && strangers.push(r.url()));
  await page.goto(url);
  return { page, complaints, strangers, close: () => context.close() };
}

/** Waits until the map shows all that it is to show. */
export async function drawn(page: Page): Promise<void> {
  await page.waitForSelector('#map:not([aria-busy])');
}

/** Does something that changes what the map shows, and waits until it is drawn. */
export async function redrawn(page: Page, change: () => Promise<unknown>): Promise<void> {
  // The watch stands before anything is done: a quick change must not be missed.
  const watch = await page.evaluateHandle(() => {
    const map = document.querySelector('#map')!;
    const begun = new Promise<void>((resolve) => {
      new MutationObserver((_, o) => {
        if (map.getAttribute('aria-busy') !== 'true') return;
        o.disconnect();
        resolve();
      }).observe(map, { attributes: true });
    });
    return { begun };
  });
  await change();
  await watch.evaluate(({ begun }) => begun);
  await drawn(page);
}

/** Keeps a picture for people to look at. */
export async function shot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}${name}.png` });
}
