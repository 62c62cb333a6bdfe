// The two words of the action: `test` writes the plan as a comment of the pull request and checks what the file expects;
// `apply` makes it so and waits until it is live. Runs where GitHub Actions set the variables.
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';

const { COMMAND, FILE = 'rules.yaml', PRUNE, GITHUB_STEP_SUMMARY, GITHUB_EVENT_PATH } = process.env;
const file = ['-f', FILE, ...(PRUNE === 'true' ? ['--prune'] : [])];

if (COMMAND === 'test') process.exitCode = await test();
else if (COMMAND === 'apply') process.exitCode = portcullis('apply', ...file, '--yes', '--wait').code;
else {
  console.error(`command is test or apply, not "${COMMAND}"`);
  process.exitCode = 2;
}

async function test() {
  const plan = portcullis('plan', ...file);
  const checks = /^\s+expect:/m.test(readFileSync(FILE, 'utf8')) ? portcullis('test', ...file) : null;
  const text = [
    `### \`${FILE}\` ${plan.code === 0 ? 'can be applied' : 'cannot be applied'}`,
    fenced(plan.said),
    ...(checks === null ? [] : ['What the file expects, once it is applied:', fenced(checks.said)]),
  ].join('\n\n');
  if (GITHUB_STEP_SUMMARY) appendFileSync(GITHUB_STEP_SUMMARY, `${text}\n`);
  await comment(text);
  return plan.code || checks?.code || 0;
}

function portcullis(...args) {
  const { status, stdout, stderr, error } = spawnSync('portcullis', ['firewall', ...args], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  if (error) throw error;
  const said = `${stdout}${stderr}`;
  process.stdout.write(said);
  return { code: status ?? 1, said };
}

/** A fence that is longer than any in the text. */
function fenced(text) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.slice(0, 60_000).trimEnd()}\n${fence}`;
}

/** One comment of each file, which later runs change. */
async function comment(text) {
  const event = GITHUB_EVENT_PATH ? JSON.parse(readFileSync(GITHUB_EVENT_PATH, 'utf8')) : {};
  const number = event.pull_request?.number;
  if (number === undefined) return;
  const mark = `<!-- portcullis ${FILE} -->`;
  const comments = `/issues/${number}/comments`;
  const there = await github('GET', `${comments}?per_page=100`);
  const mine = there.find(({ body }) => body.startsWith(mark));
  const body = { body: `${mark}\n${text}` };
  if (mine === undefined) await github('POST', comments, body);
  else await github('PATCH', `/issues/comments/${mine.id}`, body);
}

async function github(method, path, body) {
  const { GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN } = process.env;
  const response = await fetch(`${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}${path}`, {
    method,
    headers: { authorization: `Bearer ${GITHUB_TOKEN}`, accept: 'application/vnd.github+json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`GitHub answered ${response.status}: ${await response.text()}`);
  return response.json();
}
