import {
  checkFiltersPerIp,
  checkPortsPerRequest,
  checkRulesPerIp,
} from '@portcullis/core/firewall/limits.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';

/** Checks a request against the organisation's limits; each throws `limit_exceeded` with core's sentence. */

export function requirePortCount(call: Call, ports: number): void {
  refuse(checkPortsPerRequest(call.caller.organisation.limits, ports));
}

export function requireRuleCount(call: Call, there: number, more: number): void {
  refuse(checkRulesPerIp(call.caller.organisation.limits, there, more));
}

export function requireFilterCount(call: Call, there: number, more: number): void {
  refuse(checkFiltersPerIp(call.caller.organisation.limits, there, more));
}

function refuse(sentence: string | null): void {
  if (sentence !== null) throw new Problem('limit_exceeded', sentence);
}
