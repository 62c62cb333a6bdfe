import type { DetectionFields } from '@portcullis/contract/schemas/declared/detection.ts';
import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Current } from '../kind.ts';

/** An object as its table has it: its settings of detection in one column. */
export type Detected<T extends DetectionFields> = Omit<T, keyof DetectionFields> & {
  readonly detection: Partial<ScopeSettings>;
};

export function toDetected<T extends DetectionFields>(object: T): Detected<T> {
  const { thresholds, mitigation, safelist, ...rest } = object;
  const { pps, mbps, hold_seconds: holdSeconds } = thresholds;
  return { ...rest, detection: { pps, mbps, holdSeconds, mitigation, safelist } };
}

export function fromDetected<T extends DetectionFields, F extends object>({
  object: { detection, ...rest },
  ...row
}: Current<Detected<T>, F>): Current<T, F> {
  const { pps, mbps, holdSeconds, mitigation, safelist } = { ...NOTHING_SET, ...detection };
  const thresholds = { pps, mbps, hold_seconds: holdSeconds };
  // The type of the rest of a generic object says less than this.
  return { ...row, object: { ...rest, thresholds, mitigation, safelist } as unknown as T };
}

/** The settings that an object has, for the summary of a new one: `, pps 1000, mitigation off`. */
export function summariseDetection({ thresholds, mitigation, safelist }: DetectionFields): string {
  const set = Object.entries({ ...thresholds, mitigation }).filter(([, value]) => value !== null);
  const words = set.map(([name, value]) => `, ${name} ${value}`).join('');
  return safelist.length === 0 ? words : `${words}, safelist [${safelist.join(', ')}]`;
}
