import { join } from 'node:path';

/**
 * What the process engine has in place of images: a program of ours for a local image's reference, started as that
 * image's own entrypoint would be, in the server's folder and with its environment.
 */
export const PROCESS_IMAGES: Readonly<Record<string, { readonly entrypoint: readonly string[] }>> =
  {
    'portcullis/hearth': {
      entrypoint: [process.execPath, join(import.meta.dirname, 'hearth', 'main.ts')],
    },
  };

/** The egg of the server that `portcullis up` starts when nobody names another. */
export const EXAMPLE_EGG = join(import.meta.dirname, 'hearth', 'egg.json');
