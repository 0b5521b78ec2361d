// Measures how long a browser takes until the map shows all that is in view, with
// nothing kept from before: node scripts/firstview.mjs [http://localhost:8080/]
import { chromium } from 'playwright-core';

const url = process.argv[2] ?? 'http://localhost:8080/';
const runs = 10;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});
const times = [];
for (let i = 0; i < runs; i++) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector('#map:not([aria-busy])');
  times.push(await page.evaluate(() => performance.getEntriesByName('drawn')[0].startTime));
  await context.close();
}
await browser.close();
times.sort((a, b) => a - b);
console.log(`first view of ${url}: median ${Math.round(times[runs / 2])} ms, least ${Math.round(times[0])} ms, most ${Math.round(times[runs - 1])} ms of ${runs}`);
