import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseEgg } from './parse-egg.ts';

const SHARED = {
  name: 'Game',
  description: 'A game.',
  scripts: {
    installation: {
      script: '#!/bin/bash\r\necho\r\n',
      container: '~local/installer',
      entrypoint: 'bash',
    },
  },
};
const FILES = {
  'server.properties': {
    parser: 'properties',
    find: { 'server-port': '{{server.build.default.port}}' },
  },
};
const VARIABLES = [
  {
    name: 'Map',
    description: 'Where they play.',
    env_variable: 'MAP',
    default_value: 'lake',
    rules: 'required|string|max:20',
    user_viewable: 1,
    user_editable: false,
  },
];
const RULE_LIST = VARIABLES.map((one) => ({ ...one, rules: one.rules.split('|') }));
const STRINGS = {
  files: JSON.stringify(FILES),
  startup: '{\r\n "done": "ready"\r\n}',
  logs: '{}',
  stop: 'stop',
};
const OBJECTS = { files: FILES, startup: { done: ['ready'] }, logs: [], stop: 'stop' };

/** Each version as written by its panel. */
const VERSIONS = {
  PTDL_v1: {
    image: 'ghcr.io/games/game:1',
    startup: './game',
    config: STRINGS,
    variables: VARIABLES,
  },
  PTDL_v2: {
    docker_images: { 'ghcr.io/games/game:1': 'ghcr.io/games/game:1' },
    startup: './game',
    config: STRINGS,
    variables: VARIABLES,
  },
  PLCN_v1: {
    docker_images: { 'ghcr.io/games/game:1': 'ghcr.io/games/game:1' },
    startup: './game',
    config: STRINGS,
    variables: RULE_LIST,
  },
  PLCN_v2: {
    docker_images: { 'ghcr.io/games/game:1': 'ghcr.io/games/game:1' },
    startup: './game',
    config: OBJECTS,
    variables: RULE_LIST,
  },
  PLCN_v3: {
    image: 'data:image/png;base64,AAAA',
    docker_images: { 'ghcr.io/games/game:1': 'ghcr.io/games/game:1' },
    startup_commands: { Default: './game' },
    config: OBJECTS,
    variables: RULE_LIST,
  },
} as const;

describe('an egg file', () => {
  for (const [version, own] of Object.entries(VERSIONS)) {
    it(`of ${version} is parsed to the same egg as every other version`, () => {
      const text = JSON.stringify({ meta: { version }, ...SHARED, ...own });
      assert.deepEqual(eggOf(text), {
        name: 'Game',
        description: 'A game.',
        images: [
          { label: 'ghcr.io/games/game:1', reference: 'ghcr.io/games/game:1', local: false },
        ],
        startup: './game',
        launch: 'image',
        done: [{ kind: 'text', pattern: 'ready' }],
        stop: { kind: 'command', command: 'stop' },
        stopTimes: { termAfterMs: 60_000, killAfterMs: 15_000 },
        configFiles: [
          {
            path: 'server.properties',
            parser: 'properties',
            replacements: [
              { match: 'server-port', ifValue: null, value: '{{server.build.default.port}}' },
            ],
          },
        ],
        install: {
          image: { label: 'local/installer', reference: 'local/installer', local: true },
          entrypoint: 'bash',
          script: '#!/bin/bash\necho\n',
        },
        variables: [
          {
            name: 'Map',
            description: 'Where they play.',
            env: 'MAP',
            defaultValue: 'lake',
            rules: ['required', 'string', 'max:20'],
            viewable: true,
            editable: false,
          },
        ],
        capabilities: [],
        protocols: ['tcp', 'udp'],
        filters: [],
        fileDenylist: [],
      });
    });
  }
});

function eggOf(source: unknown): unknown {
  const egg = parseEgg(source);
  assert.ok(egg.ok, egg.ok ? '' : egg.reason);
  return egg.value.egg;
}
