import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeAgent } from './describe-agent.ts';

test('a session is described by its browser and system, also where one browser names another', () => {
  for (const [agent, browser, system] of [
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
      'Edge',
      'Windows',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox', 'Linux'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari',
      'iPhone',
    ],
    ['curl/8.14.1', null, null],
    [null, null, null],
  ] as const) {
    assert.deepEqual(describeAgent(agent), { browser, system });
  }
});
