import { describe } from 'node:test';
import { plannerSuite } from '@portcullis/core/attacks/testing/planner-suite.ts';
import { type ActiveMitigation, planResponse } from './plan.ts';

const SCOPE = { pps: 2_000, mitigation: 'on', safelist: [] } as const;

describe('the mitigations of control', () => {
  plannerSuite(() => {
    let active: readonly ActiveMitigation[] = [];
    const last = { subject: '203.0.113.10', type: 'other_flood', shares: [] } as const;
    let id = 0;
    return {
      report: async (attack, tops) => {
        const { subject, ...facts } = attack ?? last;
        const state = { expired: false, cancelled: false, scope: SCOPE, active };
        const ended = attack === null;
        const plan = planResponse({ ...state, subject, facts: { ...facts, tops }, ended });
        const gone = new Set(plan.end.map((one) => one.id));
        active = [
          ...active.filter((one) => !gone.has(one.id)),
          ...plan.begin.map((one) => ({ ...one, id: ++id })),
        ];
        return active.map(({ action }) => action);
      },
    };
  });
});
