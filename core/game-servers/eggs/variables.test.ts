import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { breach, parseRules, type PatternCompiler, unknownRules } from './rules.ts';
import { checkVariables, variableValues } from './variables.ts';

/** The node uses RE2; patterns of tests are harmless. */
const compile: PatternCompiler = (pattern, flags) => {
  const compiled = new RegExp(pattern, flags.replace('u', ''));
  return (text) => compiled.test(text);
};

describe('the rules of a variable', () => {
  const cases: readonly (readonly [
    rules: string,
    holds: readonly string[],
    broken: readonly string[],
  ])[] = [
    ['required', ['a', '0'], ['']],
    ['nullable|string|max:3', ['', 'abc', 'ä🎮x'], ['abcd']],
    ['string|min:2', ['', 'ab'], ['a']],
    ['integer|min:2', ['2', '10'], ['1', 'x', '1.5']],
    ['required|integer|between:1,256', ['1', '256'], ['0', '257', '', 'a']],
    ['numeric', ['1', '-1.5', '.5', '1e3'], ['a', '1,5', '0x1']],
    ['numeric|max:65535', ['65535', '9'], ['65536']],
    ['string|between:1,6', ['latest'], ['toolong']],
    ['boolean', ['0', '1', 'true', 'false'], ['yes', '2']],
    ['required|boolean|in:true,false', ['true'], ['1', 'maybe']],
    ['in:survival,creative', ['survival'], ['Survival', 'other']],
    ['in:"a,b",c, "d ""e"""', ['a,b', 'c', 'd "e"'], ['"a', 'b"', '"a,b"', 'a']],
    ['not_in:"a,b"', ['a', 'b'], ['a,b']],
    ['starts_with:"+,",-', ['+,a', '-a'], ['+a']],
    [
      'required;;string;;regex:/^(latest|\\d{1,4}|;;)$/',
      ['latest', '1234', ';;'],
      ['bad', '', 'latest|1'],
    ],
    ['not_in:a,b', ['c'], ['a']],
    ['alpha_num|between:1,6', ['latest', '1'], ['a-b']],
    ['alpha_dash', ['a-b_1', 'ü'], ['a b']],
    ['digits:4', ['0123'], ['123', 'abcd']],
    ['digits_between:1,5', ['25565'], ['255650', '']],
    ['size:2', ['ab'], ['a']],
    ['regex:/^([\\w\\d._-]+)(\\.jar)$/', ['server.jar', 'a-b.c.jar'], ['server.jar;rm', '.exe']],
    ['required|regex:/^(a|b)$/i|max:1', ['A', 'b'], ['c', 'ab']],
    ['regex:#^\\d+$#', ['1'], ['a']],
    ['not_regex:/ /', ['a'], ['a b']],
    ['url', ['https://example.net'], ['example']],
    ['starts_with:+,-', ['+map'], ['map']],
    ['nullable|integer|gt:0', ['1', ''], ['0', '-1']],
    ['string|lte:2', ['ab'], ['abc']],
    ['integer|gte:other_field', ['1'], []],
  ];
  for (const [text, holds, broken] of cases) {
    const rules = parseRules(text);
    it(`${text} accept valid values only`, () => {
      const required = rules.includes('required');
      for (const value of holds) assert.equal(breach(value, rules, compile), null, value);
      for (const value of broken) {
        if (value === '' && !required) continue;
        assert.notEqual(breach(value, rules, compile), null, JSON.stringify(value));
      }
    });
  }

  it('are split at bars and double semicolons outside of regular expressions', () => {
    assert.deepEqual(parseRules('required|regex:/^(a|b)+$/i|max:9'), [
      'required',
      'regex:/^(a|b)+$/i',
      'max:9',
    ]);
    assert.deepEqual(parseRules('regex:/a\\/|b/|in:x,y|'), ['regex:/a\\/|b/', 'in:x,y']);
    assert.deepEqual(parseRules('required|string|'), ['required', 'string']);
    assert.deepEqual(parseRules(';;required;;regex:/a;;b|c/i;;max:2|in:a;b;;;;'), [
      'required',
      'regex:/a;;b|c/i',
      'max:2',
      'in:a;b',
    ]);
    assert.deepEqual(parseRules('regex:/open|max:2'), ['regex:/open', 'max:2']);
  });

  it('are reported and accept every value if unknown', () => {
    const rules = parseRules('required|string|timezone|exists:users,id|max:20');
    assert.deepEqual(unknownRules(rules), ['timezone', 'exists']);
    assert.equal(breach('x', rules, compile), null);
  });

  it('with a regular expression are skipped without an engine that runs in bounded time', () => {
    assert.equal(breach('no', ['regex:/^yes$/'], null), null);
    assert.equal(breach('no', ['regex:/^yes$/'], compile), 'must match /^yes$/');
  });
});

describe('the variables of a server', () => {
  const variables = [
    {
      name: 'Map',
      description: '',
      viewable: false,
      editable: false,
      env: 'MAP',
      defaultValue: 'lake',
      rules: ['required', 'string', 'max:8'],
    },
    {
      name: 'Admin',
      description: '',
      viewable: false,
      editable: false,
      env: 'ADMIN',
      defaultValue: '',
      rules: ['required', 'string'],
    },
    {
      name: 'Note',
      description: '',
      viewable: false,
      editable: false,
      env: 'NOTE',
      defaultValue: '',
      rules: ['nullable', 'string'],
    },
  ];

  it('are validated, with each problem under the name of the variable', () => {
    assert.deepEqual(
      checkVariables(
        variables,
        { MAP: 'far too long', OTHER: 'x', SERVER_PORT: '1', NOTE: 'a\nb' },
        null,
      ),
      [
        { env: 'OTHER', detail: 'The egg has no variable OTHER.' },
        { env: 'SERVER_PORT', detail: 'SERVER_PORT is set for every server.' },
        { env: 'MAP', detail: 'MAP (Map) must have at most 8 characters.' },
        { env: 'ADMIN', detail: 'ADMIN (Admin) must be given: it has no default.' },
        {
          env: 'NOTE',
          detail: 'NOTE (Note) has a control character: a value is one line of text.',
        },
      ],
    );
    assert.deepEqual(checkVariables(variables, { ADMIN: 'ada' }, null), []);
  });

  it('have the default if no value is given, and no variables that the egg does not define', () => {
    const reserved = {
      name: 'Port',
      description: '',
      viewable: false,
      editable: false,
      env: 'SERVER_PORT',
      defaultValue: '1',
      rules: [],
    };
    assert.deepEqual(
      variableValues([...variables, reserved], {
        ADMIN: '',
        MAP: 'sea',
        OTHER: 'x',
        __proto__: 'y',
      }),
      {
        MAP: 'sea',
        ADMIN: '',
        NOTE: '',
      },
    );
  });
});
