import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemError } from '@portcullis/client/errors.ts';
import { describeProblem } from './describe-problem.ts';

type Errors = ProblemError['errors'];

function described(message: string, errors: Errors, code = 'invalid_request'): string {
  return describeProblem({ message, code, errors } as ProblemError);
}

test('says each reason once, without pointers and words of the API', () => {
  const needs = 'cannot be granted: firewall.read needs firewall_api, which is not enabled';
  assert.equal(
    described(`The key cannot be made: its abilities/0 ${needs}.`, [
      { pointer: '/abilities/0', detail: needs },
    ]),
    `The key cannot be made: its abilities ${needs}.`,
  );
  assert.equal(
    described('Some fields are not valid.', [
      { pointer: '/sources/0', detail: 'is not valid' },
      { pointer: '/rules/1/source_ip', detail: 'must be an IPv4 address' },
    ]),
    'The source is not valid; rules, number 2, the source must be an IPv4 address.',
  );
  const held = "203.0.113.64/29 is hive's: two cannot hold it at the same time.";
  assert.equal(described(held, [{ pointer: '/prefix', detail: held }], 'conflict'), held);
  assert.equal(
    described('A parameter is not valid.', [
      { parameter: 'from', detail: 'must be a valid date-time' },
    ]),
    '--from must be a valid date-time.',
  );
  assert.equal(
    described('It is not available. Read filters/available for those that are.', []),
    'It is not available. "portcullis firewall catalogue IP" prints those that are.',
  );
});
