import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Egg } from '../egg.ts';
import { type ServerAssignment, UNLIMITED } from '../power.ts';
import { installEnvironment, type Launch, planLaunch } from './launch.ts';
import { reviewEgg } from '../egg-library/review.ts';
import { renderTemplate, type TemplateScope } from './templates.ts';

const EGG: Egg = {
  name: 'Game',
  description: '',
  images: [
    { label: 'Java 21', reference: 'example.com/java:21', local: false },
    { label: 'Java 17', reference: 'local/java', local: true },
  ],
  startup: './game -port {{SERVER_PORT}} --name "{{NAME}}" {{EXTRA}} {{server.build.default.ip}}',
  launch: 'image',
  done: [],
  stop: { kind: 'command', command: 'stop' },
  stopTimes: { termAfterMs: 60_000, killAfterMs: 15_000 },
  configFiles: [],
  install: null,
  variables: [
    {
      name: 'Name',
      description: '',
      viewable: false,
      editable: false,
      env: 'NAME',
      defaultValue: 'My server',
      rules: ['required'],
    },
    {
      name: 'Extra',
      description: '',
      viewable: false,
      editable: false,
      env: 'EXTRA',
      defaultValue: '',
      rules: [],
    },
  ],
  capabilities: [],
  protocols: ['tcp', 'udp'],
  filters: [],
  fileDenylist: [],
};
const SERVER: ServerAssignment = {
  uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
  organisation: 'acme',
  name: 'Survival',
  egg: 'digest',
  image: null,
  variables: {},
  limits: { ...UNLIMITED, memory: 1024, cpu: 150, disk: 2048 },
  allocation: { ip: '198.51.100.10', port: 25_565 },
  ports: [],
  dockerImage: null,
  startup: null,
  mounts: [],
  isRestored: false,
  suspended: false,
  crashes: { restart: true, withinMs: 60_000, tries: 1 },
  startWithHost: 'as_before',
  stopAfterMs: null,
  buildEpoch: 1,
  emptyFiles: null,
};
const SURROUNDINGS = { timeZone: 'Europe/Berlin', location: 'node-1' };

describe('the launch of a server', () => {
  it('gives a community image its startup as written and every value in the environment', () => {
    const launch = launchOf({ NAME: 'it\'s {{SERVER_PORT}} "x"' });
    assert.deepEqual(launch.env, {
      NAME: 'it\'s {{SERVER_PORT}} "x"',
      EXTRA: '',
      TZ: 'Europe/Berlin',
      SERVER_MEMORY: '1024',
      SERVER_IP: '198.51.100.10',
      SERVER_PORT: '25565',
      P_SERVER_UUID: SERVER.uuid,
      P_SERVER_LOCATION: 'node-1',
      STARTUP: './game -port {{SERVER_PORT}} --name "{{NAME}}" {{EXTRA}} 198.51.100.10',
    });
    assert.equal(launch.command, null);
    assert.deepEqual(launch.image, EGG.images[0]);
    assert.deepEqual(launch.notes, []);
  });

  it('sets the variables of further ports, whatever the egg says of them', () => {
    const port = { ip: '198.51.100.10', port: 28_016, protocols: ['tcp'], name: 'rcon' } as const;
    const server = { ...SERVER, ports: [{ ...port, variable: 'EXTRA' }] };
    const launch = planLaunch(EGG, server, SURROUNDINGS);
    assert.ok(launch.ok);
    assert.equal(launch.value.env['EXTRA'], '28016');
  });

  it('splits the startup into arguments if the egg requests it, and keeps quoted values whole', () => {
    const launch = launchOf(
      { NAME: '$(id) "a b" {{EXTRA}}', EXTRA: '-a  -b' },
      { launch: 'startup' },
    );
    const command = [
      './game',
      '-port',
      '25565',
      '--name',
      '$(id) "a b" {{EXTRA}}',
      '-a',
      '-b',
      '198.51.100.10',
    ];
    assert.deepEqual(launch.command, command);
    assert.deepEqual(launch.fallbackCommand, { ok: true, value: command });
  });

  it('passes arguments to an image without a command, and none if the egg has no startup', () => {
    const launch = launchOf({});
    assert.ok(launch.fallbackCommand?.ok === true);
    assert.deepEqual(launch.fallbackCommand.value.slice(0, 3), ['./game', '-port', '25565']);
    const without = launchOf({}, { startup: null });
    assert.deepEqual([without.command, without.fallbackCommand], [null, null]);
    assert.equal(Object.hasOwn(without.env, 'STARTUP'), false);
  });

  it('fails with an explanation if the startup cannot be split', () => {
    const plan = planLaunch({ ...EGG, startup: './a "b', launch: 'startup' }, SERVER, SURROUNDINGS);
    assert.deepEqual(plan, {
      ok: false,
      reason: 'a quote (") opens at character 5 and never closes',
    });
    // The shell of an image may accept it.
    assert.equal(planLaunch({ ...EGG, startup: './a "b' }, SERVER, SURROUNDINGS).ok, true);
  });

  it('uses the image with the label that the server chose, and reports a missing label', () => {
    assert.equal(launchOf({}, {}, { image: 'Java 17' }).image.reference, 'local/java');
    const gone = launchOf({}, {}, { image: 'Java 8' });
    assert.equal(gone.image.label, 'Java 21');
    assert.deepEqual(gone.notes, ['the egg has no image "Java 8": Java 21 is used']);
  });

  it('never lets variables of an egg override the variables of every server', () => {
    const variables = ['STARTUP', 'SERVER_PORT', 'SERVER_IP', 'TZ', 'P_SERVER_UUID'].map((env) => ({
      name: env,
      env,
      description: '',
      viewable: false,
      editable: false,
      defaultValue: 'egg',
      rules: [],
    }));
    const given = Object.fromEntries(variables.map(({ env }) => [env, 'given']));
    const { env } = launchOf(given, { variables });
    for (const value of Object.values(env)) assert.doesNotMatch(value, /egg|given/);
  });

  it('gives an install the same environment, without a startup', () => {
    const launch = launchOf({});
    const { STARTUP: _, ...rest } = launch.env;
    assert.deepEqual(installEnvironment(launch), rest);
  });
});

describe('a template', () => {
  const scope: TemplateScope = launchOf({ NAME: 'n' }).scope;

  it('replaces the documented placeholders', () => {
    const cases = {
      '{{env.NAME}} {{ env.NAME }} {{server.build.env.NAME}}': 'n n n',
      '{{server.environment.NAME}} {{server.build.environment.NAME}}': 'n n',
      '{{server.build.env.SERVER_PORT}}': '25565',
      '0.0.0.0:{{server.build.default.port}}': '0.0.0.0:25565',
      '{{server.allocations.default.ip}}:{{server.allocations.default.port}}':
        '198.51.100.10:25565',
      '{{server.build.default.ip}} {{server.build.memory}} {{server.build.memory_limit}}':
        '198.51.100.10 1024 1024',
      '{{server.build.cpu_limit}} {{server.build.disk_space}} {{server.uuid}}': `150 2048 ${SERVER.uuid}`,
    };
    for (const [text, wanted] of Object.entries(cases)) {
      assert.deepEqual(renderTemplate(text, scope), { text: wanted, unknown: [] });
    }
  });

  it('keeps and reports all other placeholders', () => {
    for (const name of [
      'config.docker.interface',
      'config.token',
      'env.NO_SUCH',
      'server.build.env.constructor',
      'server.__proto__',
      'env.__proto__',
      'server.build.env.',
      'server.allocations.mappings',
    ]) {
      assert.deepEqual(renderTemplate(`a {{${name}}} b`, scope), {
        text: `a {{${name}}} b`,
        unknown: [name],
      });
    }
  });

  it('keeps the braces of games', () => {
    for (const name of ['NAME', 'player', 'constructor', 'process.env.PATH']) {
      assert.deepEqual(renderTemplate(`{{${name}}}`, scope), { text: `{{${name}}}`, unknown: [] });
    }
    assert.deepEqual(renderTemplate('{{NAME}} {{player}}', scope, true), {
      text: 'n {{player}}',
      unknown: ['player'],
    });
  });

  it('never expands placeholders inside of values', () => {
    const names = fc.constantFrom(
      '{{NAME}}',
      '{{env.SECRET}}',
      '{{',
      '}}',
      'NAME',
      '{{OTHER}}',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(names), fc.array(names), (name, other) => {
        const environment = { NAME: name.join(''), OTHER: other.join(''), SECRET: 'secret' };
        const rendered = renderTemplate('<{{NAME}}|{{OTHER}}>', { ...scope, environment }, true);
        assert.equal(rendered.text, `<${environment.NAME}|${environment.OTHER}>`);
      }),
    );
  });
});

describe('the review of an egg', () => {
  it('reports settings without the effect that the author intended', () => {
    const compile = (pattern: string) => (pattern.includes('(?=') ? null : () => true);
    const egg: Egg = {
      ...EGG,
      startup: './game {{NO_SUCH}} ${NAME}',
      done: [{ kind: 'regex', pattern: '(?=x)' }],
      configFiles: [
        {
          path: 'config.yml',
          parser: 'yaml',
          replacements: [
            { match: 'a', ifValue: 'regex:(?=y)', value: '{{config.docker.interface}}$1' },
            { match: 'b', ifValue: null, value: '{{env.NAME}}' },
          ],
        },
      ],
      variables: [
        {
          name: 'Name',
          env: 'NAME',
          description: '',
          viewable: false,
          editable: false,
          defaultValue: '',
          rules: ['timezone', 'regex:/(?=z)/', 'regex:/a/'],
        },
      ],
    };
    assert.deepEqual(reviewEgg(egg, compile), [
      'startup: nothing stands for {{NO_SUCH}}, it stays as it is written',
      'config.yml: nothing stands for {{config.docker.interface}}, what it would replace is left as it is',
      'NAME: the rule timezone is not checked',
      'NAME: regex:/(?=z)/ is not understood and not checked',
      'done: regex:(?=x) is not understood and never matches',
      'config.yml: regex:(?=y) is not understood, what it guards is left as it is',
    ]);
    assert.deepEqual(reviewEgg(EGG, compile), []);
  });
});

function launchOf(
  variables: Readonly<Record<string, string>>,
  egg: Partial<Egg> = {},
  server: Partial<ServerAssignment> = {},
): Launch {
  const plan = planLaunch({ ...EGG, ...egg }, { ...SERVER, ...server, variables }, SURROUNDINGS);
  assert.ok(plan.ok, plan.ok ? '' : plan.reason);
  return plan.value;
}
