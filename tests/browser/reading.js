// Characters that are drawn below a node as [character, middle, top]: no white space, nothing that is drawn on or in
// the character before, and nothing that stands for a character.
(root) => {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let before = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentNode.closest(".mark-part")) continue;
    let at = 0;
    for (const character of node.data) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, (at += character.length));
      const [box] = range.getClientRects();
      const isOwn = /[^\s\p{M}\p{Emoji_Modifier}\p{Cf}]/u.test(character) && before !== "\u200d";
      if (box && isOwn) found.push([character, box.left + box.width / 2, box.top]);
      before = character;
    }
  }
  return found;
}
