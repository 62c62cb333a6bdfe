import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { parseSafelistEntry } from '@portcullis/core/attacks/detector/safelist.ts';
import type { Scope } from './scope.ts';
import type { DetectionText } from '../schema/schema.ts';

/** Parses the thresholds, mitigation mode and safelist of one scope. */
export function parseDetection(text: DetectionText, scope: Scope): ScopeSettings {
  const { thresholds, mitigation, safelist } = text;
  return {
    pps: thresholds?.pps ?? null,
    mbps: thresholds?.mbps ?? null,
    holdSeconds: thresholds?.hold_seconds ?? null,
    mitigation: mitigation ?? null,
    safelist: parseSafelist(safelist ?? [], scope.in('safelist')),
  };
}

function parseSafelist(texts: readonly string[], scope: Scope): string[] {
  const found: string[] = [];
  for (const [index, text] of texts.entries()) {
    const entry = parseSafelistEntry(text);
    if (!entry.ok) scope.in(index).refuse(`${entry.reason}.`);
    else if (found.includes(entry.value)) scope.in(index).refuse(`${text} is here twice.`);
    else found.push(entry.value);
  }
  return found.toSorted();
}
