// What axe-core finds on a page.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

export async function findings(page: Page): Promise<string[]> {
  // The page's policy forbids scripts that are put into it; a debugger may.
  await page.evaluate(axe);
  const all = await page.evaluate(async () => {
    const { axe: a } = window as unknown as { axe: { run(o: object): Promise<{ violations: Finding[] }> } };
    return (await a.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })).violations;
  });
  return all.flatMap((v) => v.nodes.map((n) => `${v.id}: ${v.help}\n${n.html}\n${n.failureSummary}`));
}
