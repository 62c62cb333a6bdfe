import { Type } from 'typebox';
import { Count, exact, NO_CONTROL_CHARACTERS } from './text.ts';

const serverFields = {
  uuid: Type.String({ format: 'uuid' }),
  identifier: Type.Union([Type.String(), Type.Null()], {
    description: 'For display; null until provisioned.',
  }),
  name: Type.String(),
  service_id: Type.Integer(),
  provisioned: Type.Boolean({ description: 'false until the node has built the server.' }),
  limits: exact({ memory: Count, cpu: Count, disk: Count }, 'MiB, percent of one core, MiB.'),
};

export const GameServerList = exact({ data: Type.Array(exact(serverFields)) });

export const GameServer = exact({
  data: exact({
    ...serverFields,
    state: Type.Union(
      [Type.String({ enum: ['offline', 'starting', 'running', 'stopping'] }), Type.Null()],
      {
        description: 'null means unknown, not offline: unprovisioned, or the node did not answer.',
      },
    ),
    resources: Type.Union([
      exact({
        memory_bytes: Count,
        memory_limit_bytes: Count,
        cpu_absolute: Type.Number({ minimum: 0 }),
        disk_bytes: Count,
        network_rx_bytes: Count,
        network_tx_bytes: Count,
        uptime: Type.Integer({ minimum: 0, description: 'Milliseconds' }),
      }),
      Type.Null(),
    ]),
  }),
});

export const PowerRequest = exact({
  signal: Type.String({
    enum: ['start', 'stop', 'restart', 'kill'],
    description: '`kill` ends the process at once, without letting the server save.',
  }),
});

export const CommandRequest = exact({
  command: Type.String({ minLength: 1, maxLength: 2048, pattern: NO_CONTROL_CHARACTERS }),
});

/** `ok` says that the node took the instruction, not that it is done. */
export const Acknowledgement = exact({
  ok: Type.Boolean(),
  message: Type.String({ description: 'Empty when accepted.' }),
});
