import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { type ServerAssignment, UNLIMITED } from '@portcullis/core/game-servers/power.ts';

/** The programs of the fake engine: `ready` is their done line, `stop` ends them. */
export const EGG: Egg = {
  name: 'Game',
  description: '',
  images: [{ label: 'game', reference: 'game:1', local: false }],
  startup: 'game --port {{server.build.default.port}}',
  launch: 'image',
  done: [{ kind: 'text', pattern: 'ready' }],
  stop: { kind: 'command', command: 'stop' },
  stopTimes: { termAfterMs: 60_000, killAfterMs: 60_000 },
  configFiles: [],
  install: null,
  variables: [],
  capabilities: [],
  protocols: ['tcp'],
  filters: [],
  fileDenylist: [],
};

export const INSTALLED_EGG: Egg = {
  ...EGG,
  install: {
    image: { label: 'installer', reference: 'game:1', local: false },
    entrypoint: 'sh',
    script: 'echo installed',
  },
};

export function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** The `number`th server with its own port. */
export function assignmentOf(
  number: number,
  egg: string,
  changes: Partial<ServerAssignment> = {},
): ServerAssignment {
  return {
    uuid: uuidOf(number),
    organisation: 'acme',
    name: `Server ${number}`,
    egg,
    image: null,
    variables: {},
    limits: { ...UNLIMITED, memory: 512, cpu: 100, disk: 1024 },
    allocation: { ip: '127.0.0.1', port: 20_000 + number },
    ports: [],
    suspended: false,
    dockerImage: null,
    startup: null,
    mounts: [],
    isRestored: false,
    crashes: { restart: true, withinMs: 60_000, tries: 1 },
    startWithHost: 'as_before',
    stopAfterMs: null,
    buildEpoch: 1,
    emptyFiles: null,
    ...changes,
  };
}
