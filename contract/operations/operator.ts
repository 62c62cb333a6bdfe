import type { OperatorEndpoint } from '../endpoint.ts';
import { ThresholdSuggestions } from '../schemas/operator.ts';
import { read, readAnswer, SLUG } from './operator-shared.ts';

/** Threshold suggestions of an organisation. */
export const OPERATOR_ENDPOINTS = [
  {
    ...read,
    operationId: 'suggestThresholds',
    path: '/organisations/{slug}/threshold-suggestions',
    params: SLUG,
    summary: 'Suggest thresholds',
    description:
      'By the traffic and the attacks of the last seven days, for each address and prefix with a quarter of its threshold, or with attacks.',
    responses: readAnswer('Most traffic first.', ThresholdSuggestions),
  },
] as const satisfies readonly OperatorEndpoint[];
