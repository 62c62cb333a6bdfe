import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import { use } from 'react';
import { SessionContext } from '../session/session.ts';
import { showAccepted } from './show-accepted.ts';
import { showUndo } from './show-undo.tsx';

/** What a toast says after a write: that it can be taken back, or how far its generation is. */
export type Said =
  | { readonly text: string; undo(): Promise<unknown> }
  | { readonly text: string; readonly generation: number | null };

export interface AfterWrite<Input, Result> {
  /** Null: no toast. */
  say?(result: Result, input: Input): Said | null;
  onDone?(result: Result, input: Input): void;
}

/**
 * Every write of the page. Once the service has accepted it, all that the page shows is read again: a write can change
 * more than the list that it was made from.
 */
export function useWrite<Result, Input = void>(
  write: (input: Input) => Promise<Result>,
  { say, onDone }: AfterWrite<Input, Result> = {},
): UseMutationResult<Result, Error, Input> {
  const queries = useQueryClient();
  // The pages before signing in have no session.
  const client = use(SessionContext)?.client;
  const refresh = (): void => void queries.invalidateQueries();
  return useMutation({
    mutationFn: write,
    onSuccess(result, input) {
      onDone?.(result, input);
      refresh();
      const said = say?.(result, input) ?? null;
      if (said === null) return;
      if ('undo' in said) showUndo(said.text, () => said.undo().then(refresh));
      else if (said.generation !== null && client !== undefined)
        showAccepted(client, said.text, said.generation);
    },
  });
}
