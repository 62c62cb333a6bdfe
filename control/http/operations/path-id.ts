import { Problem } from '../../problem.ts';
import type { Call } from './operation.ts';

/** An id of the path; 404 for what is no id, as for one that does not exist. */
export function pathId(call: Pick<Call, 'params'>, name: string): number {
  const text = call.params[name] ?? '';
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new Problem(
    'not_found',
    `There is no ${name.replaceAll('_', ' ')} "${text.slice(0, 50)}".`,
  );
}
