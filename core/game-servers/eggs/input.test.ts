import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputOf } from './input.ts';
import { parseRules } from './rules.ts';

const input = (rules: string, standard = '') => inputOf(parseRules(rules), standard);
const number = { kind: 'number', whole: true, least: null, most: null };
const text = { kind: 'text', least: null, most: null };

test('a list of values is a choice, without those that other rules refuse', () => {
  assert.deepEqual(input('required|string|in:dm,tdm,ctf'), {
    kind: 'choice',
    choices: ['dm', 'tdm', 'ctf'],
  });
  assert.deepEqual(input('in:a,b,b,long|max:1'), { kind: 'choice', choices: ['a', 'b'] });
  assert.deepEqual(input('in:"a,b",c'), { kind: 'choice', choices: ['a,b', 'c'] });
  assert.deepEqual(input('integer|in:x,y'), text, 'nothing is left');
  const many = Array.from({ length: 501 }, (_, index) => index).join(',');
  assert.equal(input(`in:${many}`).kind, 'text');
});

test('yes and no are a switch, in the spelling that the variable takes', () => {
  assert.deepEqual(input('required|in:true,false'), { kind: 'switch', on: 'true', off: 'false' });
  assert.deepEqual(input('in:0,1'), { kind: 'switch', on: '1', off: '0' });
  assert.deepEqual(input('boolean', '0'), { kind: 'switch', on: '1', off: '0' });
  assert.deepEqual(input('boolean', 'false'), { kind: 'switch', on: 'true', off: 'false' });
});

test('numbers and texts have the bounds of their rules', () => {
  assert.deepEqual(input('required|integer|between:1,200'), { ...number, least: 1, most: 200 });
  assert.deepEqual(input('numeric|min:0.5'), { ...number, whole: false, least: 0.5 });
  assert.deepEqual(input('int|gte:2|lte:3'), { ...number, least: 2, most: 3 });
  assert.deepEqual(input('string|max:20'), { ...text, most: 20 });
  assert.deepEqual(input('string|size:5'), { ...text, least: 5, most: 5 });
  assert.deepEqual(input('nullable|regex:/^a|b$/'), text);
  assert.deepEqual(input(''), text);
  assert.deepEqual(input('integer|max:|min:x'), number, 'rules that say nothing');
});
