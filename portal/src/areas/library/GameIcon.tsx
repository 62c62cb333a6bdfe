interface Props {
  readonly title: string;
  /** A `data:` URI, which the service has checked; null: initials stand for it. */
  readonly icon: string | null;
}

/** The icon of a game. It says nothing that its title beside it does not. */
export function GameIcon({ title, icon }: Props) {
  if (icon !== null) return <img className="game-icon" src={icon} alt="" loading="lazy" />;
  return (
    <span className="game-icon" aria-hidden="true">
      {initialsOf(title)}
    </span>
  );
}

function initialsOf(title: string): string {
  const words = title.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  return words
    .slice(0, 2)
    .map((word) => word.charAt(0).toUpperCase())
    .join('');
}
