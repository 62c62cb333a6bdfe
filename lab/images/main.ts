import { parseArgs } from 'node:util';
import { provideImages } from './provide.ts';

/** `npm run images`: makes the local images of the shipped eggs and gives them to this machine's Docker engine. */
const USAGE = `npm run images -- [--socket PATH] [NAME...]

Makes the images of the shipped eggs of Debian's and npm's packages and gives them to Docker.
Without names: all of them.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    socket: { type: 'string', default: '/var/run/docker.sock' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) console.log(USAGE);
else {
  const names = positionals.length === 0 ? undefined : positionals;
  const loaded = await provideImages(values.socket, names, console.log);
  console.log(
    loaded.length === 0 ? 'Docker has them all' : `given to Docker: ${loaded.join(', ')}`,
  );
}
