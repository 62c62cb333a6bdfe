import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseEgg } from './parse-egg.ts';

const GOOD = {
  meta: { version: 'PTDL_v2' },
  name: 'Game',
  docker_images: { Game: 'example.com/game:1' },
  startup: './game',
  config: { files: '{}', startup: '{"done": "ready"}', logs: '{}', stop: 'stop' },
};

describe('an invalid egg file', () => {
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ['no JSON', '{"meta": ', /^the egg: is not JSON: /],
    ['a list', '[]', /^the egg: must be an object, not a list$/],
    ['of no version', { ...GOOD, meta: {} }, /^meta.version: is missing.*PTDL_v1.*PLCN_v3$/],
    ['of a version to come', { ...GOOD, meta: { version: 'PLCN_v9' } }, /"PLCN_v9" is not known/],
    ['without a name', { ...GOOD, name: ' ' }, /^name: is empty$/],
    ['without images', { ...GOOD, docker_images: {} }, /^docker_images: names no image$/],
    [
      'with an icon where v3 has no image',
      {
        ...GOOD,
        meta: { version: 'PLCN_v3' },
        docker_images: null,
        image: 'data:image/png;base64,A',
      },
      /^docker_images: names no image$/,
    ],
    [
      'with an image that is an option',
      { ...GOOD, docker_images: { a: '--privileged' } },
      /^docker_images.a: "--privileged" is no image/,
    ],
    [
      'with JSON in a string that is none',
      { ...GOOD, config: { ...GOOD.config, files: '{oops' } },
      /^config.files: is not JSON: /,
    ],
    [
      'with a file outside of the folder',
      files({ 'a/../../etc/passwd': find() }),
      /^config.files\["a\/..\/..\/etc\/passwd"\]: leads out of the server's folder$/,
    ],
    ['with the folder for a file', files({ '/./': find() }), /is no path of a file$/],
    [
      'with a variable no environment takes',
      { ...GOOD, variables: [{ env_variable: 'A=B' }] },
      /^variables\[0\].env_variable: "A=B": write letters/,
    ],
    [
      'with a variable that is none',
      { ...GOOD, variables: [{ env_variable: 'A' }, 5] },
      /^variables\[1\]: must be an object, not a number$/,
    ],
    [
      'with NUL in a default',
      { ...GOOD, variables: [{ env_variable: 'A', default_value: 'a\0b' }] },
      /^variables\[0\].default_value: has a NUL character$/,
    ],
    [
      'that is too large to be carried to nodes',
      { ...GOOD, variables: Array.from({ length: 100 }, (_, at) => large(at)) },
      /^the egg: has 16\d{5} characters besides its icon; at most 1048576 are taken$/,
    ],
    ['with a stop of two lines', stop('save\nquit'), /^config.stop: a stop command is one line/],
    [
      'with a startup without end',
      { ...GOOD, startup: 'x'.repeat(20_000) },
      /^startup: has 20000 characters; at most 16384 are taken$/,
    ],
    [
      'with variables without end',
      { ...GOOD, variables: Array.from({ length: 300 }, () => ({})) },
      /^variables: has 300 entries; at most 256 are taken$/,
    ],
    [
      'with a mistyped key of ours',
      { ...GOOD, portcullis: { stoptimes: {} } },
      /^portcullis: \/stoptimes is not one of launch, stop_times/,
    ],
    [
      'with a capability that reaches out of a container',
      { ...GOOD, portcullis: { capabilities: ['SYS_ADMIN'] } },
      /^portcullis: \/capabilities\/0 is not one of CHOWN, /,
    ],
    [
      'with a stop time without end',
      { ...GOOD, portcullis: { stop_times: { term_after_seconds: 1e9 } } },
      /term_after_seconds is not a whole number from 0 to 3600$/,
    ],
    ['with no protocol', { ...GOOD, portcullis: { protocols: [] } }, /names no protocol$/],
    [
      'with a startup in place of the command, but none',
      { ...GOOD, startup: '', portcullis: { launch: 'startup' } },
      /^portcullis.launch: is "startup", but the egg has no startup$/,
    ],
  ];
  for (const [what, source, reason] of cases) {
    it(`(${what}) is rejected with path and reason`, () => {
      const egg = parseEgg(source);
      assert.equal(egg.ok, false);
      assert.match(egg.ok ? '' : egg.reason, reason);
    });
  }

  it('never throws, for any value at any path', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const keys = [
      'meta',
      'name',
      'docker_images',
      'startup',
      'config',
      'scripts',
      'variables',
      'portcullis',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...keys), value, (key, other) => {
        parseEgg({ ...GOOD, [key]: other });
        parseEgg(JSON.stringify({ ...GOOD, [key]: other }));
        parseEgg({ ...GOOD, config: { files: other, startup: other, stop: other } });
        parseEgg({ ...GOOD, scripts: { installation: other } });
        parseEgg({
          ...GOOD,
          variables: [other, { env_variable: 'A', rules: other, default_value: other }],
        });
      }),
      { numRuns: 500, examples: [['docker_images', [{ toString: null }]]] },
    );
  });

  it('never interprets __proto__', () => {
    const text = JSON.stringify({ ...GOOD, variables: [{ env_variable: 'X' }] });
    const egg = parseEgg(text.replace('"X"', '"__proto__"'));
    assert.match(egg.ok ? '' : egg.reason, /__proto__/);
    const own = parseEgg(`${text.slice(0, -1)}, "__proto__": {"name": "other"}}`);
    assert.equal(own.ok && own.value.egg.name, 'Game');
  });
});

describe('an unusual egg file', () => {
  it('is accepted with a note for each omitted part', () => {
    const egg = parseEgg({
      ...GOOD,
      startup: undefined,
      startup_commands: { Default: './a', Other: './b' },
      config: {
        files: {
          'no-find.cfg': { parser: 'file' },
          'odd.lua': { parser: 'lua', find: { a: 'b' } },
          'a.yml': { parser: 'yml', find: { a: null, '': 'x', b: { old: [1], was: 'new' } } },
        },
        startup: { done: ['ready', '', 'regex:'] },
        stop: '^^D',
      },
      variables: [
        { env_variable: 'SERVER_PORT', default_value: '1' },
        { env_variable: 'A', default_value: 1, rules: 'required|integer|' },
        { env_variable: 'A', default_value: true, rules: ['boolean', ''] },
        { env_variable: 'B', rules: {} },
      ],
    });
    assert.ok(egg.ok, egg.ok ? '' : egg.reason);
    assert.deepEqual(egg.value.notes, [
      'of 2 startup commands the first is used: startup_commands.Default',
      'config.startup.done: an empty pattern is left out',
      'config.stop "^^D" is no known signal: SIGTERM is sent',
      'config.files["no-find.cfg"] says nothing to find, it is left out',
      'config.files["odd.lua"]: there is no parser "lua", the file is left alone',
      'config.files["a.yml"].find["a"] is neither text nor a number nor true or false, it is left out',
      'config.files["a.yml"].find[""] matches nothing, it is left out',
      'config.files["a.yml"].find["b"] is neither text nor a number nor true or false, it is left out',
      'variables[0]: SERVER_PORT is set for every server, this variable is not used',
      'variables[2]: A again, this one counts',
    ]);
    const { variables, configFiles, done } = egg.value.egg;
    assert.deepEqual(variables, [
      {
        name: 'A',
        description: '',
        viewable: false,
        editable: false,
        env: 'A',
        defaultValue: 'true',
        rules: ['boolean'],
      },
      {
        name: 'B',
        description: '',
        viewable: false,
        editable: false,
        env: 'B',
        defaultValue: '',
        rules: [],
      },
    ]);
    assert.deepEqual(configFiles, [
      {
        path: 'a.yml',
        parser: 'yaml',
        replacements: [{ match: 'b', ifValue: 'was', value: 'new' }],
      },
    ]);
    assert.deepEqual(done, [{ kind: 'text', pattern: 'ready' }]);
  });

  it('is accepted with a note for each part without the effect that its author intended', () => {
    const egg = parseEgg(
      {
        ...GOOD,
        startup: '{{NO_SUCH}}',
        config: { startup: { done: 'regex:(?=x)' }, stop: 'stop' },
      },
      (pattern) => (pattern === '(?=x)' ? null : () => true),
    );
    assert.deepEqual(egg.ok && egg.value.notes, [
      'startup: nothing stands for {{NO_SUCH}}, it stays as it is written',
      'done: regex:(?=x) is not understood and never matches',
    ]);
  });

  it('limits the number of notes', () => {
    const many = Array.from({ length: 60 }, (_, at) => [
      `file-${at}`,
      { parser: 'x', find: { a: 1 } },
    ]);
    const egg = parseEgg(files(Object.fromEntries(many)));
    assert.deepEqual(egg.ok && egg.value.notes.slice(49), [
      'config.files["file-49"]: there is no parser "x", the file is left alone',
      'and 10 more',
    ]);
  });

  it('is accepted without optional parts', () => {
    const egg = parseEgg({ meta: { version: 'PTDL_v1' }, name: 'G', image: '~local/game' });
    assert.ok(egg.ok, egg.ok ? '' : egg.reason);
    const { startup, done, stop: how, install, variables } = egg.value.egg;
    assert.deepEqual([startup, done, install, variables], [null, [], null, []]);
    assert.deepEqual(how, { kind: 'signal', signal: 'SIGTERM' });
  });
});

function files(entries: Readonly<Record<string, unknown>>): unknown {
  return { ...GOOD, config: { ...GOOD.config, files: entries } };
}

function large(at: number): unknown {
  return { env_variable: `V${at}`, default_value: 'x'.repeat(16_000) };
}

function find(): unknown {
  return { parser: 'file', find: { a: 'b' } };
}

function stop(text: string): unknown {
  return { ...GOOD, config: { ...GOOD.config, stop: text } };
}
