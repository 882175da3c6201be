#!/bin/sh
# Prints how full the disk is. The last line keeps the agent asleep while there is room.
limit=${1:-90}
used=$(df -P / | awk 'NR == 2 { sub("%", "", $5); print $5 }')
echo "The disk is $used % full; the limit is $limit %."
if [ "$used" -lt "$limit" ]; then
  echo '{"wake": false}'
fi
