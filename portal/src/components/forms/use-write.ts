import {
  type QueryKey,
  useMutation,
  useMutationState,
  type UseMutationResult,
  useQueryClient,
} from '@tanstack/react-query';
import { use } from 'react';
import { SessionContext } from '../../session/session.ts';
import { showAccepted, showUndo } from './toasts.tsx';

/** The sentence that a toast says after a write: that it can be taken back, or how far its generation is. */
export type Said =
  | { readonly text: string; undo(): Promise<unknown> }
  | {
      readonly text: string;
      readonly generation: number | null;
      /** The address that was written; absent: several. */
      readonly ip?: string;
      undo?(): Promise<unknown>;
    };

export interface AfterWrite<Input, Result> {
  /** It changes nothing at the service: what another form sends later. */
  readonly isLocal?: boolean;
  /** The beginning of the keys of what it removes; see `useIsRemoved`. */
  readonly removes?: QueryKey;
  /** Null: no toast. */
  say?(result: Result, input: Input): Said | null;
  onDone?(result: Result, input: Input): void;
}

/** How long what was removed is known to be, after the page that did it has gone: an operator may restore it. */
const REMOVED_MS = 30_000;

function removalKey(key: QueryKey): QueryKey {
  return ['removes', ...key];
}

/**
 * Whether this page removes, or has removed, what is read by this key. It is still shown until another page is, and must
 * not be read again meanwhile: the answer would be an error.
 */
export function useIsRemoved(key: QueryKey): boolean {
  const removals = useMutationState({
    filters: { mutationKey: removalKey(key), predicate: ({ state }) => state.status !== 'error' },
  });
  return removals.length > 0;
}

/**
 * Every write of the page. Afterwards all that the page shows is read again: a write can change more than the list
 * that it was made from.
 */
export function useWrite<Result, Input = void>(
  write: (input: Input) => Promise<Result>,
  { isLocal = false, removes, say, onDone }: AfterWrite<Input, Result> = {},
): UseMutationResult<Result, Error, Input> {
  const queries = useQueryClient();
  // The pages before signing in have no session.
  const client = use(SessionContext)?.client;
  const refresh = (): void => void queries.invalidateQueries();
  return useMutation({
    mutationFn: write,
    ...(removes !== undefined && { mutationKey: removalKey(removes), gcTime: REMOVED_MS }),
    onMutate() {
      if (removes !== undefined) void queries.cancelQueries({ queryKey: removes });
      // An event may have the page read again before the answer is here: an undo goes back to what it shows now.
      return say;
    },
    onSuccess(result, input, sayWhenSent) {
      onDone?.(result, input);
      const outcome = sayWhenSent?.(result, input) ?? null;
      if (outcome === null) return;
      const { undo } = outcome;
      const takeBack = undo && (() => undo().then(refresh));
      if ('generation' in outcome) {
        const { generation } = outcome;
        if (generation !== null && client !== undefined)
          showAccepted(client, { ...outcome, generation, undo: takeBack });
      } else if (takeBack !== undefined) showUndo(outcome.text, takeBack);
    },
    // After a refusal too, which may be one because the page shows what is there no longer.
    onSettled() {
      if (!isLocal) refresh();
    },
  });
}
