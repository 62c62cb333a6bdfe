import { parseArgs } from 'node:util';
import { makeImages, provideImages } from './provide.ts';

/** `npm run images`: makes the local images of the shipped eggs and gives them to this machine's Docker engine. */
const USAGE = `npm run images -- [--socket PATH | --only-make] [NAME...]

Makes the images of the shipped eggs of Debian's and npm's packages and gives them to Docker.
Without names: all of them. With --only-make they are kept for a later run, and Docker is not asked.`;

try {
  await main();
} catch (error) {
  // What apt or npm said is in the message; a stack would say nothing more.
  console.error(`images: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      socket: { type: 'string', default: '/var/run/docker.sock' },
      'only-make': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const names = positionals.length === 0 ? undefined : positionals;
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (values['only-make']) {
    await makeImages(names, console.log);
    return;
  }
  const loaded = await provideImages(values.socket, names, console.log);
  console.log(
    loaded.length === 0 ? 'Docker has them all' : `given to Docker: ${loaded.join(', ')}`,
  );
}
