import type { BodyOf } from '@portcullis/contract/operation-types.ts';
import { portOf } from '../named-ports/index.ts';
import type { Replacement } from './own-objects.ts';

/** The replaced part of the accepted view: own objects that are not deleted, with ports as expressions. */
export function replacementOf(
  body: Pick<BodyOf<'replaceAddress'>, 'rules' | 'filters'>,
): Replacement {
  const isOwn = (one: { readonly managed_by_group?: unknown; readonly status?: string }): boolean =>
    (one.managed_by_group ?? null) === null && one.status !== 'going';
  return {
    rules: body.rules.filter(isOwn).map((rule) => ({
      action: rule.action,
      protocol: rule.protocol,
      source_ip: rule.source_ip ?? null,
      ...(rule.ref !== undefined && { ref: rule.ref }),
      ...(rule.expires_at !== undefined && { expires_at: rule.expires_at }),
      ...portOf(rule),
    })),
    filters: body.filters.filter(isOwn).map(({ type, port, settings = null }) => ({
      type,
      port: String(port),
      settings,
    })),
  };
}
