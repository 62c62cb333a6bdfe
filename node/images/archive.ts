import { createHash } from 'node:crypto';
import { linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cache } from './cache.ts';
import type { Layer } from './layer.ts';

export interface Image {
  /** `portcullis/luanti`. */
  readonly reference: string;
  /** From the lowest up. */
  readonly layers: readonly Layer[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** A folder as `docker save` packs it, for `docker load`: every layer once, however many images have it. */
export class Archive {
  readonly folder: string;

  constructor(cache: Cache, images: readonly Image[]) {
    this.folder = mkdtempSync(join(cache.work, 'archive-'));
    for (const layer of new Map(
      images.flatMap(({ layers }) => layers.map((one) => [one.digest, one])),
    ).values())
      linkSync(layer.path, join(this.folder, layerName(layer)));
    const manifest = images.map((image) => {
      const config = renderConfig(image);
      const name = `${createHash('sha256').update(config).digest('hex')}.json`;
      writeFileSync(join(this.folder, name), config);
      return {
        Config: name,
        RepoTags: [`${image.reference}:latest`],
        Layers: image.layers.map(layerName),
      };
    });
    writeFileSync(join(this.folder, 'manifest.json'), JSON.stringify(manifest));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Docker's image ID of it: the digest of its configuration, which names the layers. */
export function imageId(image: Image): string {
  return `sha256:${createHash('sha256').update(renderConfig(image)).digest('hex')}`;
}

function layerName({ digest }: Layer): string {
  return `${digest}.tar`;
}

/** https://github.com/opencontainers/image-spec/blob/main/config.md */
function renderConfig({ layers }: Image): string {
  return JSON.stringify({
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: {
      Entrypoint: ['/entrypoint'],
      User: '1000:1000',
      WorkingDir: '/home/container',
      Env: [
        'PATH=/usr/local/bin:/usr/bin:/bin:/usr/games',
        'HOME=/home/container',
        'USER=container',
        'LANG=C.UTF-8',
      ],
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
    history: layers.map(() => ({ created: '1970-01-01T00:00:00Z', created_by: 'portcullis' })),
  });
}
