import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageBody, messageHeaders } from './message.ts';

test('signs as the example of Standard Webhooks', () => {
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/javascript/src/index.test.ts
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const headers = messageHeaders(id, '{"test": 2432232314}', [secret], 1_614_265_330_999);
  assert.equal(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  assert.deepEqual([headers['webhook-id'], headers['webhook-timestamp']], [id, '1614265330']);
});

test('signs with every secret', () => {
  const secrets = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const { 'webhook-signature': text = '' } = messageHeaders('msg_1', '{}', secrets, 0);
  assert.match(text, /^v1,\S{44} v1,\S{44}$/);
});

test('says what happened, when, where and to whom', () => {
  const event = {
    eventId: 7,
    kind: 'attack.opened',
    target: '2001:0db8:0:0::10',
    at: new Date(0),
    data: { attack: 3 },
    organisation: 'acme',
  };
  const body = messageBody(event, 'https://hooks.example.net/');
  assert.deepEqual(JSON.parse(body), {
    type: 'attack.opened',
    timestamp: '1970-01-01T00:00:00.000+00:00',
    data: { organisation: 'acme', target: '2001:db8::10', attack: 3 },
  });
});
