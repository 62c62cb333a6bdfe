import Fastify from 'fastify';
import pg from 'pg';
import { PreparingClient } from '@portcullis/control/db/statement.ts';
import { connectionConfig } from '@portcullis/control/db/database.ts';
import { addressQuery } from '@portcullis/control/firewall/store.ts';

/**
 * The baseline: a Fastify route that runs the query of an address read and sends its row, and does nothing
 * else: no authentication, no rate limit, no validation, no view, no tags, no log.
 *
 * `node bare-server.ts JSON` with `{ databaseUrl, organisationId, poolSize }`; tells its parent `{ port }`.
 */
const { databaseUrl, organisationId, poolSize } = JSON.parse(process.argv[2] ?? '{}') as {
  databaseUrl: string;
  organisationId: number;
  poolSize: number;
};
const pool = new pg.Pool({
  ...connectionConfig(databaseUrl, 'bench'),
  max: poolSize,
  Client: PreparingClient,
});
const text = addressQuery('live');
const app = Fastify();
app.get<{ Params: { ip: string } }>('/bare/:ip', (request) =>
  pool
    .query(text, [request.params.ip, organisationId, null])
    .then(({ rows }) => rows[0] as unknown),
);
const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
process.send?.({ port: Number(url.port) });
process.once('disconnect', () => process.exit(0));
