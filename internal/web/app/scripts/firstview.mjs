// Measures how long a browser takes from the request of the page until the map shows all
// that is in view, land and places, with nothing kept from before:
//
//	node scripts/firstview.mjs [URL [RUNS]]
//
// Two times are printed. "drawn" is when the page has given its last command: MapLibre's
// event idle, which comes when each source has loaded and a frame has been drawn with all
// of them. "finished" is when the graphics processor, or the processor in its place, has
// carried it out, too. The browser runs already, and has made a first page, which is
// not counted: its own start is not the page's.
import { chromium } from 'playwright-core';

const url = process.argv[2] ?? 'http://localhost:8080/';
const runs = Number(process.argv[3] ?? 10);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
  ],
});

/** One first view, in milliseconds since the request. */
async function view() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    new PerformanceObserver((list, observer) => {
      if (list.getEntriesByName('drawn').length === 0) return;
      observer.disconnect();
      // Reading a pixel waits for all that was to be drawn before.
      const gl = document.querySelector('#map canvas').getContext('webgl2');
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
      performance.mark('finished');
    }).observe({ type: 'mark' });
  });
  await page.goto(url);
  const times = await page.waitForFunction(() => {
    const at = (name) => performance.getEntriesByName(name)[0]?.startTime;
    return at('finished') && { drawn: at('drawn'), finished: at('finished') };
  });
  const result = await times.jsonValue();
  await context.close();
  return result;
}

await view();
const all = [];
for (let i = 0; i < runs; i++) all.push(await view());
await browser.close();
for (const name of ['drawn', 'finished']) {
  const times = all.map((t) => t[name]).sort((a, b) => a - b);
  console.log(`first view of ${url}, ${name}: median ${Math.round(times[runs >> 1])} ms, least ${Math.round(times[0])} ms, most ${Math.round(times[runs - 1])} ms of ${runs}`);
}
