import { Button } from '@mantine/core';
import { AuthenticationError, ConnectionError, ProblemError } from '@portcullis/client/index.ts';
import { CircleX } from 'lucide-react';
import { useEffect } from 'react';
import { messages } from '../messages/index.ts';
import { useSession } from '../session/session.ts';
import { EmptyState } from './EmptyState.tsx';

const text = messages.errors;

interface Props {
  readonly error: Error;
  onRetry?(): void;
}

/** Why something cannot be shown, and what to do. A session that is over ends here. */
export function ErrorState({ error, onRetry }: Props) {
  const { signOut } = useSession();
  useEffect(() => {
    if (error instanceof AuthenticationError) signOut(error.message);
  }, [error, signOut]);
  const isUnreachable = error instanceof ConnectionError;
  return (
    <div role="alert">
      <EmptyState
        icon={CircleX}
        title={isUnreachable ? text.unreachable : text.title}
        text={isUnreachable ? text.unreachableHint : error.message}
      >
        {onRetry !== undefined && (
          <Button variant="default" onClick={onRetry}>
            {text.retry}
          </Button>
        )}
        {error instanceof ProblemError && error.requestId !== null && (
          <span className="dim mono">{text.request(error.requestId)}</span>
        )}
      </EmptyState>
    </div>
  );
}
