import { defineConfig } from 'vitest/config';

// The page in Chromium, against a server that runs. One file after the other: each
// browser draws with the processor.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 400_000,
    hookTimeout: 400_000,
  },
});
