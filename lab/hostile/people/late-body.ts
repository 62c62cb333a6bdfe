import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { sql } from 'kysely';
import type { Access } from '@portcullis/control/access/index.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import type { TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { start } from './testing.ts';

/** A request whose head was sent and admitted, and whose body was not. */
export interface LateBody {
  send(body: string): Promise<{ readonly status: number; readonly text: string }>;
}

export interface LateBodies extends TestEnvironment {
  /** Sends the head, and resolves once the server has checked the rights of the caller. */
  open(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    length: number,
  ): Promise<LateBody>;
}

/** The test environment of the API, in which the first check of a request's rights can be waited for. */
export async function startWithLateBodies(t: TestContext): Promise<LateBodies> {
  const admitted = new EventTarget();
  const pending: { access: Access | null } = { access: null };
  const watched = <T>(checked: Promise<T>): Promise<T> => {
    void checked.catch(() => {}).then(() => admitted.dispatchEvent(new Event('checked')));
    return checked;
  };
  const real = (): Access => pending.access ?? raise();
  const access: Omit<Access, 'forget' | 'stop'> = {
    authenticate: (...sent) => watched(real().authenticate(...sent)),
    authenticateSession: (...sent) => watched(real().authenticateSession(...sent)),
    authenticateAgain: (...sent) => real().authenticateAgain(...sent),
    authenticateSessionAgain: (...sent) => real().authenticateSessionAgain(...sent),
    onChange: (listener) => real().onChange(listener),
  };
  const environment = await start(t, { access });
  pending.access = environment.access;
  const open: LateBodies['open'] = async (method, path, headers, length) => {
    const { hostname, port } = new URL(environment.url);
    const checked = once(admitted, 'checked');
    const socket = connect(Number(port), hostname);
    t.after(() => void socket.destroy());
    let answer = '';
    socket.on('data', (chunk) => void (answer += String(chunk)));
    socket.on('error', () => {});
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: portcullis.example\r\nConnection: close\r\n` +
        `Content-Type: ${method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'}\r\nContent-Length: ${length}\r\n${lines.join('')}\r\n`,
    );
    await checked;
    return {
      async send(body) {
        const closed = once(socket, 'close');
        socket.write(body);
        await closed;
        const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(answer) ?? [];
        return { status: Number(status), text: answer };
      },
    };
  };
  return { ...environment, open };
}

function raise(): never {
  throw new Error('the environment has not started');
}

/** A digest of every row of every table but these. */
export async function digestOf(db: Db, except: readonly string[]): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ name: string }>`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind = 'r' and c.relname <> all(${except}) order by 1`.execute(
    db,
  );
  const entries = tables.map(async ({ name }) => {
    const { rows } = await sql<{ digest: string }>`
      select count(*) || ' ' || coalesce(md5(string_agg(r::text, ' ' order by r::text)), '') as digest
        from ${sql.raw(name)} r`.execute(db);
    return [name, rows[0]?.digest ?? ''] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
