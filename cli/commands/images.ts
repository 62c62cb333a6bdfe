import type { Command } from 'commander';
import { failed } from '@portcullis/caller/exit.ts';
import { print, printJson, printTable } from '@portcullis/caller/output.ts';

interface ImagesOptions {
  readonly dockerHost?: string;
  readonly list?: boolean;
  readonly onlyMake?: boolean;
  readonly json?: boolean;
}

/** `images`: the images of the shipped eggs, made on this host and given to its Docker. */
export function addImages(program: Command): void {
  program
    .command('images')
    .description('make the images of the shipped games for Docker on this host')
    .argument('[name...]', 'such as flying-squid (default: all)')
    .option(
      '--docker-host <url>',
      "the engine's socket (default: DOCKER_HOST, else unix:///var/run/docker.sock)",
    )
    .option('--list', 'only list them, and which of them Docker has')
    .option('--only-make', 'keep them for a later run, without Docker')
    .option('--json', 'with --list: print JSON')
    .addHelpText(
      'after',
      `
They are made of packages of Debian and npm on this host: it needs apt-get, dpkg-deb, npm for flying-squid, and about
2 GB of disk. Nothing is installed, and no script of a package runs. What was made before is not made again.

  portcullis images --list
  sudo portcullis images flying-squid       Minecraft, in about a minute`,
    )
    .action(runImages);
}

async function runImages(names: readonly string[], options: ImagesOptions): Promise<void> {
  const { makeImages, provideImages } = await import('@portcullis/node/images/provide.ts');
  const chosen = names.length === 0 ? {} : { names };
  try {
    if (options.list === true) {
      await listImages(options);
    } else if (options.onlyMake === true) {
      await makeImages({ ...chosen, say: print });
    } else {
      const loaded = await provideImages(await socketOf(options), { ...chosen, say: print });
      print(loaded.length === 0 ? 'Docker has them all' : `given to Docker: ${loaded.join(', ')}`);
    }
  } catch (error) {
    // What apt or npm said is in the message; a stack would say nothing more.
    throw failed(error instanceof Error ? error.message : String(error), error);
  }
}

async function listImages(options: ImagesOptions): Promise<void> {
  const { LocalImages } = await import('@portcullis/node/images/local-images.ts');
  const { createLineLog } = await import('@portcullis/agent/log.ts');
  const log = createLineLog('node', (line) => process.stderr.write(line), 'error');
  const images = new LocalImages({ socketPath: await socketOf(options), log });
  await images.refresh();
  const listed = images.list();
  if (options.json === true) printJson({ images: listed });
  else {
    await printTable(
      ['NAME', 'IMAGE', 'STATE'],
      listed.map(({ name, reference, state }) => [name, reference, WORDS[state]]),
    );
  }
}

const WORDS = {
  unknown: 'Docker does not answer',
  missing: 'not made yet',
  building: 'being made',
  ready: 'ready',
  failed: 'failed',
} as const;

async function socketOf({ dockerHost }: ImagesOptions): Promise<string> {
  const { engineSettings } = await import('./node.ts');
  const { parseDockerHost } = await import('@portcullis/node/engine/docker/api/client.ts');
  const settings = await engineSettings(dockerHost === undefined ? {} : { dockerHost });
  return parseDockerHost(settings.dockerHost);
}
