import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    // The policy of the page allows no data: scripts or fonts; small files stay files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Parts of the first page in one file: each file more is compressed for itself.
        codeSplitting: {
          groups: [
            {
              name: 'controls',
              test: /@mantine\/core\/esm\/components\/(?:ActionIcon|CloseButton|FocusTrap|Input|InputBase|Popover|SegmentedControl)\//,
            },
          ],
        },
      },
    },
  },
});
