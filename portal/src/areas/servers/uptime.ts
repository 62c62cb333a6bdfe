import { messages } from '../../messages/index.ts';

const MINUTE_MS = 60_000;

export function uptimeOf(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  const hours = Math.floor(minutes / 60);
  return messages.server.uptime(Math.floor(hours / 24), hours % 24, minutes % 60);
}
