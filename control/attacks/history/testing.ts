import assert from 'node:assert/strict';
import type { TestClient, TestReply } from '../../testing/client.ts';

export const ATTACKS = '/api/v1/attacks';

interface Page {
  readonly data: readonly {
    readonly id: number;
    readonly destination_ip: string;
    readonly prefix: string;
    readonly started_at: string;
    readonly ended_at: string | null;
    readonly duration_seconds: number;
    readonly status: string;
  }[];
  readonly links: { first: string; last: string; prev: string | null; next: string | null };
  readonly meta: {
    current_page: number;
    per_page: number;
    total: number;
    from: string;
    to: string;
    from_clamped: boolean;
  };
}

export function pageOf(reply: TestReply): Page {
  assert.equal(reply.status, 200, reply.text);
  return reply.body as Page;
}
export async function list(client: TestClient, query = ''): Promise<Page> {
  return pageOf(await client.get(`${ATTACKS}${query}`));
}
export async function idsOf(client: TestClient, query = ''): Promise<number[]> {
  return (await list(client, query)).data.map(({ id }) => id);
}
/** A link, as a client behind the public URL follows it. */
export function path(link: string | null): string {
  assert.ok(link !== null && link.startsWith('https://portcullis.example/api/v1/attacks?'));
  return link.slice('https://portcullis.example'.length);
}
export const moment = (secondsAgo: number): string =>
  encodeURIComponent(new Date(Date.now() - secondsAgo * 1000).toISOString());
