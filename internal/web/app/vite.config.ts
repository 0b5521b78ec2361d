import { defineConfig } from 'vitest/config';

// Where `npm run dev` finds a server: what it answers is passed on.
const server = process.env['CATFISH_URL'] ?? 'http://localhost:8080';

export default defineConfig({
  // Paths are relative: behind a proxy the page may lie at any address.
  base: './',
  build: {
    outDir: process.env['OUT_DIR'] ?? 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // The first that know light-dark(), which theme.css is made of.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Files of their own for all: the page's policy allows no data: scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    rolldownOptions: {
      output: {
        // MapLibre changes seldom: its file keeps its name when the page's own code changes.
        codeSplitting: { groups: [{ name: 'maplibre', test: /node_modules/ }] },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['collections', 'conformance', 'api', 'engine', 'tileMatrixSets'].map((path) => [
        `^/${path}([/?]|$)`,
        server,
      ]),
    ),
  },
  test: {
    include: ['src/**/*.test.ts', 'scripts/**/*.test.mjs'],
    environment: 'node',
  },
});
