import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ProblemNotice } from '../../components/forms/ProblemNotice.tsx';
import { operatorMessages } from '../../messages/operator.ts';
import { useSession } from '../../session/session.ts';

const text = operatorMessages;

/** Begins to act for an organisation, with the rights of an owner, or stops. */
export function ActButton({ slug }: { readonly slug: string }) {
  const { person, actFor } = useSession();
  const navigate = useNavigate();
  const isActing = person?.acting_for === slug;
  const act = useMutation({
    mutationFn: () => actFor(isActing ? null : slug),
    onSuccess: () => {
      if (!isActing) void navigate({ to: '/addresses' });
    },
  });
  return (
    <>
      <Button
        variant={isActing ? 'light' : 'default'}
        size="compact-sm"
        aria-label={isActing ? text.stopOf(slug) : text.actOf(slug)}
        loading={act.isPending}
        onClick={() => act.mutate()}
      >
        {isActing ? text.stop : text.act}
      </Button>
      <ProblemNotice error={act.error} />
    </>
  );
}
