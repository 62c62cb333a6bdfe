import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';
import { sendRaw } from '@portcullis/control/testing/raw.ts';

const MARK = 'evil4242';
/** Targets and heads that a link of a stranger could make a browser send. */
const TARGETS = [
  `//${MARK}.example/`,
  `/\\${MARK}.example/`,
  `/%2f%2f${MARK}.example/`,
  `/.${MARK}.example/`,
  `/@${MARK}.example/`,
  `https://${MARK}.example/`,
  `https://${MARK}.example/docs`,
  `/?next=https://${MARK}.example/`,
  `/docs?next=//${MARK}.example/`,
  `/docs/?url=https://${MARK}.example/openapi.json`,
  `/docs/<script>${MARK}</script>`,
  `/docs?"><script>${MARK}</script>`,
  `/problems/<script>${MARK}</script>`,
  `/problems/not_found?"><script>${MARK}</script>`,
  `/problems/not_found/${MARK}`,
  `/api/v1/openapi.json?${MARK}`,
  `/${MARK}%0d%0aSet-Cookie:%20a=${MARK}`,
  '/',
  '/docs',
  '/problems',
  '/problems/not_found',
];
/** Headers of browsers and programs: without `text/html` the first page is the reference. */
const HEADS = ['Accept: text/html', 'Accept: */*'].flatMap((accept) =>
  [
    ['Host: control.example'],
    [`Host: ${MARK}.example`],
    ['Host: control.example', `X-Forwarded-Host: ${MARK}.example`, 'X-Forwarded-Proto: https'],
    [
      'Host: control.example',
      `Referer: https://${MARK}.example/`,
      `Origin: https://${MARK}.example`,
    ],
  ].map((lines) => [...lines, accept]),
);

test('no page holds what a URL or a head says, leads to another host, or may be framed', async (t) => {
  const { url } = await startEnvironment(t);
  let pages = 0;
  let redirects = 0;
  for (const target of TARGETS) {
    for (const lines of HEADS) {
      const text = [`GET ${target} HTTP/1.1`, ...lines, 'Connection: close'];
      const answer = await sendRaw(url, `${text.join('\r\n')}\r\n\r\n`);
      const what = `${target} ${lines.join()}`;
      const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
      assert.match(head, /^HTTP\/1\.1 (?:200|30[1278]|4\d\d) /, what);
      const location = /^location: (.*)$/im.exec(head)?.[1];
      if (location !== undefined) {
        redirects += 1;
        assert.equal(new URL(location, 'https://control.example').host, 'control.example', what);
      }
      assert.ok(!head.includes(MARK), `${what}: ${head}`);
      if (!/^content-type: text\/html/im.test(head)) continue;
      pages += 1;
      assert.ok(!body.includes(MARK), what);
      const policy = /^content-security-policy: (.*)$/im.exec(head)?.[1] ?? '';
      assert.match(policy, /default-src 'none'/, what);
      assert.match(policy, /frame-ancestors 'none'/, what);
      assert.doesNotMatch(policy, /script-src[^;]*'unsafe-(?:inline|eval)'/, what);
    }
  }
  assert.ok(pages >= 20 && redirects >= 4, `${pages} pages, ${redirects} redirects`);
});
