import { type ControlSide, LinkError } from './transport.ts';

/** Several transports of one control: an agent is called over the first on which it is connected. */
export function joinTransports(sides: readonly ControlSide[]): ControlSide {
  return {
    async call(agent, call, timeoutMs) {
      let away = new LinkError('disconnected', `${agent.name} is not connected`);
      for (const side of sides) {
        try {
          return await side.call(agent, call, timeoutMs);
        } catch (error) {
          if (!(error instanceof LinkError) || error.code !== 'disconnected') throw error;
          away = error;
        }
      }
      throw away;
    },
    notify(notice) {
      for (const side of sides) side.notify(notice);
    },
    admitted: (kind) => new Set(sides.flatMap((side) => [...side.admitted(kind)])),
    recheck(matches) {
      for (const side of sides) side.recheck(matches);
    },
    async close() {
      await Promise.all(sides.map((side) => side.close()));
    },
  };
}
